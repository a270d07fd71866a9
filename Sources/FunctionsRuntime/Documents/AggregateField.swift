import DocumentModel

/// An aggregate for ``Queryable/aggregate(_:)``.
public struct AggregateField: Hashable, Sendable {
    /// An invalid field name is reported when the query is used.
    private let model: Result<DocumentModel.AggregateField, DocumentError>

    private init(_ model: Result<DocumentModel.AggregateField, DocumentError>) { self.model = model }

    /// The number of documents.
    public static func count() -> AggregateField { AggregateField(.success(.count(upTo: nil))) }

    /// The sum of a field's numbers; 0 if there are none. If a document lacks the field, no aggregate of the query
    /// counts it.
    public static func sum(_ field: some FieldPathConvertible) -> AggregateField {
        AggregateField(path(field).map { .sum($0) })
    }

    /// The average of a field's numbers; null if there are none. If a document lacks the field, no aggregate of the
    /// query counts it.
    public static func average(_ field: some FieldPathConvertible) -> AggregateField {
        AggregateField(path(field).map { .average($0) })
    }

    private static func path(_ field: some FieldPathConvertible) -> Result<FieldPath, DocumentError> {
        do throws(DocumentError) { return .success(try field.fieldPath()) } catch { return .failure(error) }
    }

    func resolved() throws(DocumentError) -> DocumentModel.AggregateField { try model.get() }
}
