import DocumentModel

/// A condition on documents, for ``Queryable/whereFilter(_:)``.
public struct Filter: Sendable {
    private let content: Content

    private indirect enum Content: Sendable {
        case all([Filter])
        case any([Filter])
        case field(any FieldPathConvertible, DocumentModel.Query.Operator, FieldValue)
    }

    private init(_ content: Content) { self.content = content }

    private init(
        _ field: some FieldPathConvertible, _ comparison: DocumentModel.Query.Operator, _ value: (any FieldInput)?
    ) {
        content = .field(field, comparison, value?.fieldValue ?? .null)
    }

    /// Matches documents that match all of the filters.
    public static func andFilter(_ filters: [Filter]) -> Filter { Filter(.all(filters)) }

    /// Matches documents that match at least one of the filters.
    public static func orFilter(_ filters: [Filter]) -> Filter { Filter(.any(filters)) }

    public static func whereField(_ field: some FieldPathConvertible, isEqualTo value: (any FieldInput)?) -> Filter {
        Filter(field, .equal, value)
    }

    public static func whereField(_ field: some FieldPathConvertible, isNotEqualTo value: (any FieldInput)?) -> Filter {
        Filter(field, .notEqual, value)
    }

    public static func whereField(_ field: some FieldPathConvertible, isLessThan value: any FieldInput) -> Filter {
        Filter(field, .lessThan, value)
    }

    public static func whereField(
        _ field: some FieldPathConvertible, isLessThanOrEqualTo value: any FieldInput
    ) -> Filter {
        Filter(field, .lessThanOrEqual, value)
    }

    public static func whereField(_ field: some FieldPathConvertible, isGreaterThan value: any FieldInput) -> Filter {
        Filter(field, .greaterThan, value)
    }

    public static func whereField(
        _ field: some FieldPathConvertible, isGreaterThanOrEqualTo value: any FieldInput
    ) -> Filter {
        Filter(field, .greaterThanOrEqual, value)
    }

    public static func whereField(_ field: some FieldPathConvertible, in values: [any FieldInput]) -> Filter {
        Filter(field, .in, FieldValue.array(values))
    }

    public static func whereField(_ field: some FieldPathConvertible, notIn values: [any FieldInput]) -> Filter {
        Filter(field, .notIn, FieldValue.array(values))
    }

    public static func whereField(_ field: some FieldPathConvertible, arrayContains value: any FieldInput) -> Filter {
        Filter(field, .arrayContains, value)
    }

    public static func whereField(
        _ field: some FieldPathConvertible, arrayContainsAny values: [any FieldInput]
    ) -> Filter {
        Filter(field, .arrayContainsAny, FieldValue.array(values))
    }

    /// The filter for the store.
    func model(for query: Query) throws(DocumentError) -> DocumentModel.Query.Filter {
        switch content {
        case .all(let filters): return .and(try Self.models(filters, for: query))
        case .any(let filters): return .or(try Self.models(filters, for: query))
        case .field(let name, let comparison, let field):
            let path = try name.fieldPath()
            var value = try field.plainValue()
            if path.isDocumentID { value = try query.documentName(value) }
            switch (comparison, value) {
            case (.equal, .null): return .unary(path, .isNull)
            case (.notEqual, .null): return .unary(path, .isNotNull)
            case (.equal, .double(let number)) where number.isNaN: return .unary(path, .isNaN)
            case (.notEqual, .double(let number)) where number.isNaN: return .unary(path, .isNotNaN)
            default: return .field(path, comparison, value)
            }
        }
    }

    private static func models(
        _ filters: [Filter], for query: Query
    ) throws(DocumentError) -> [DocumentModel.Query.Filter] {
        guard !filters.isEmpty else { throw .invalidArgument("andFilter and orFilter require at least one filter") }
        var models: [DocumentModel.Query.Filter] = []
        for filter in filters { models.append(try filter.model(for: query)) }
        return models
    }
}

extension Query {
    /// The value to compare a document's id with: an id or path becomes the document's name.
    func documentName(_ value: Value) throws(DocumentError) -> Value {
        switch value {
        case .string(let text):
            let path: DocumentPath
            if model.allDescendants {
                path = try DocumentPath(text)
            } else {
                let below = model.parent.map { $0.string + "/" } ?? ""
                path = try DocumentPath(below + model.collectionID + "/" + text)
            }
            return .reference(DocumentName(database: firestore.transport.database, path: path))
        case .array(let values):
            var names: [Value] = []
            for value in values { names.append(try documentName(value)) }
            return .array(names)
        case .reference: return value
        default: throw .invalidArgument("a document's id can only be compared with an id or a DocumentReference")
        }
    }
}
