public import DocumentModel
import StrictJSON

/// Decodes a document's fields as a `Codable` type.
///
/// `Timestamp` and `Date` are decoded from timestamps, `Data` from bytes, `GeoPoint`, ``VectorValue`` and
/// ``DocumentReference`` from native values. Any numeric type accepts any number that it can represent exactly; a
/// `Decimal` has the digits of the double. A null or missing field is nil.
public struct DocumentDecoder: Sendable {
    public init() {}

    /// - Parameters:
    ///   - reference: The document, for `@DocumentID` and for references in its fields.
    ///   - type: What the document becomes.
    ///   - fields: The document's fields.
    /// - Throws: `DecodingError`, with the path of the field that doesn't decode.
    public func decode<T: Decodable>(
        _ type: T.Type = T.self, from fields: [String: Value], in reference: DocumentReference? = nil
    ) throws -> T {
        try NodeDecoder(.document(.map(fields)), context: .document(reference), root: reference?.path).decode(type)
    }

    /// Decodes one field, whose name is used in errors.
    func decode<T: Decodable>(
        _ type: T.Type, field: FieldPath, of fields: [String: Value], in reference: DocumentReference
    ) throws -> T {
        let document = Value.map(fields)
        let whole = NodeDecoder(.document(document), context: .document(reference), root: reference.path)
        return try whole.decode(type, .document(document[field] ?? .null), key: PathKey.name(field.description))
    }
}
