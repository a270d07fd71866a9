/// Encodes a `Codable` value as a document's fields.
public struct DocumentEncoder: Sendable {
    public init() {}

    /// The fields, for `setData` and `updateData`. A nil property is omitted. As on iOS, a `Decimal` becomes the
    /// nearest double.
    ///
    /// - Throws: `EncodingError` if the value isn't a keyed type, or contains a value that documents can't have.
    public func encode(_ value: some Encodable) throws -> [String: FieldValue] {
        let field = try encode(field: value)
        guard case .map(let fields) = field.content else {
            let reason = "a document is a set of named fields, which \(type(of: value)) is not"
            throw EncodingError.invalidValue(type(of: value), .init(codingPath: [], debugDescription: reason))
        }
        return fields
    }

    /// A value of any shape, for one field.
    func encode(field value: some Encodable) throws -> FieldValue {
        FieldValue(node: try NodeEncoder(.document).encodeRoot(value))
    }
}
