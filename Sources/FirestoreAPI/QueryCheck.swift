import DocumentModel

/// Rules for clients' queries that the store itself doesn't enforce.
extension DatabaseID {
    /// - Throws: `invalidArgument` if a cursor has more values than the query has explicit orders, or if `__name__`
    ///   is compared with anything but the name of a document in this database.
    func check(_ query: Query) throws(DocumentError) {
        for cursor in [query.start, query.end] {
            guard let cursor else { continue }
            guard cursor.values.count <= query.orderBy.count else {
                throw .invalidArgument(
                    "a cursor has \(cursor.values.count) values, but the query has only \(query.orderBy.count) explicit orders"
                )
            }
            for (value, order) in zip(cursor.values, query.orderBy) where order.field.isDocumentID {
                try checkName(value)
            }
        }
        for value in query.filter?.comparedNames ?? [] { try checkName(value) }
    }

    private func checkName(_ value: Value) throws(DocumentError) {
        guard case .reference(let name) = value else {
            throw .invalidArgument("__name__ can only be compared with document names, as referenceValue")
        }
        guard name.database == self else {
            throw .invalidArgument("\"\(name)\" is not in the database of the request, \(resourceName)")
        }
    }
}

extension Query.Filter {
    fileprivate var comparedNames: [Value] {
        switch self {
        case .and(let filters), .or(let filters): filters.flatMap(\.comparedNames)
        case .field(let field, _, .array(let values)) where field.isDocumentID: values
        case .field(let field, _, let value) where field.isDocumentID: [value]
        case .field, .unary: []
        }
    }
}
