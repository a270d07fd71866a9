import DocumentModel

/// One number about the documents of a query, for ``Queryable/aggregate(_:)``.
public struct AggregateField: Hashable, Sendable {
    /// What is wrong with the field's name is told when the query is used.
    private let model: Result<DocumentModel.AggregateField, DocumentError>

    private init(_ model: Result<DocumentModel.AggregateField, DocumentError>) { self.model = model }

    /// How many documents there are.
    public static func count() -> AggregateField { AggregateField(.success(.count(upTo: nil))) }

    /// The sum of a field's numbers; 0 where there is none. Documents without the field count in no number of the query.
    public static func sum(_ field: some FieldPathConvertible) -> AggregateField {
        AggregateField(path(field).map { .sum($0) })
    }

    /// The average of a field's numbers; null where there is none. Documents without the field count in no number of
    /// the query.
    public static func average(_ field: some FieldPathConvertible) -> AggregateField {
        AggregateField(path(field).map { .average($0) })
    }

    private static func path(_ field: some FieldPathConvertible) -> Result<FieldPath, DocumentError> {
        do throws(DocumentError) { return .success(try field.fieldPath()) } catch { return .failure(error) }
    }

    func resolved() throws(DocumentError) -> DocumentModel.AggregateField { try model.get() }
}
