public import DocumentModel

/// Reads the fields of a document into a type of one's own.
///
/// `Timestamp` and `Date` come from timestamps, `Data` from bytes, `GeoPoint` and ``DocumentReference`` from theirs.
/// Any numeric type takes any number that it can hold exactly. A field that is null or missing is nil.
public struct DocumentDecoder: Sendable {
    public init() {}

    /// - Parameter reference: the document, for `@DocumentID` and for the references among the fields.
    /// - Throws: `DecodingError`, with the path to the field that is wrong.
    public func decode<T: Decodable>(
        _ type: T.Type = T.self, from fields: [String: Value], in reference: DocumentReference? = nil
    ) throws -> T {
        try NodeDecoder(.document(.map(fields)), context: .document(reference), root: reference?.path).decode(type)
    }

    /// Reads one field, whose name is told in errors.
    func decode<T: Decodable>(
        _ type: T.Type, field: FieldPath, of fields: [String: Value], in reference: DocumentReference
    ) throws -> T {
        let document = Value.map(fields)
        let whole = NodeDecoder(.document(document), context: .document(reference), root: reference.path)
        return try whole.decode(type, .document(document[field] ?? .null), key: PathKey.name(field.description))
    }
}
