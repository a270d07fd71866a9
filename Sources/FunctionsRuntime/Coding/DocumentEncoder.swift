/// Writes a type of one's own as the fields of a document.
public struct DocumentEncoder: Sendable {
    public init() {}

    /// The fields, ready for `setData` and `updateData`. A property that is nil is left out.
    ///
    /// - Throws: `EncodingError` where the value isn't a set of named fields, or holds what a document can't.
    public func encode(_ value: some Encodable) throws -> [String: FieldValue] {
        let field = FieldValue(node: try NodeEncoder(.document).encodeRoot(value))
        guard case .map(let fields) = field.content else {
            let reason = "a document is a set of named fields, which \(type(of: value)) is not"
            throw EncodingError.invalidValue(type(of: value), .init(codingPath: [], debugDescription: reason))
        }
        return fields
    }
}
