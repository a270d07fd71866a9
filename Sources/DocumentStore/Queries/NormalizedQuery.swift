import DocumentModel

/// A query that was checked, with all of its implicit orders.
struct NormalizedQuery: Sendable {
    let query: Query
    /// The collection's path; for a group its id, with `query.parent` as the document that the matches must be below.
    let collection: CollectionPath
    /// Ends in `__name__`, so that no two documents have the same place.
    let orders: [Query.Order]
    /// The conjunctions; a document matches if it satisfies one of them. Without a filter, one empty conjunction.
    let disjuncts: [[QueryLeaf]]
    /// Further fields that a document must have: those whose numbers are aggregated.
    var required: [FieldPath]
    /// Nil for all fields.
    let projection: FieldMask?
    /// The fields at the top that found documents are decoded with; nil for all.
    private(set) var decodedFields: Set<String>?

    /// - Throws: `invalidArgument` with the rule that the query violates.
    init(_ asked: Query, required: [FieldPath] = []) throws(DocumentError) {
        let query = asked.withStoredTimes
        guard !query.collectionID.isEmpty else {
            throw .invalidArgument(
                query.allDescendants
                    ? "a query over all collections can only be run; name a collection"
                    : "a query must name a collection"
            )
        }
        self.query = query
        self.required = required
        let path = query.allDescendants ? query.collectionID : Self.path(query)
        self.collection = try CollectionPath(path)
        guard !query.collectionID.utf8.contains(UInt8(ascii: "/")) else {
            throw .invalidArgument("a collection id must not contain a slash, and \"\(query.collectionID)\" does")
        }
        disjuncts = try QueryLeaf.disjuncts(of: query.filter)
        // Only the store itself requires more fields, of a query that was checked without them.
        if required.isEmpty { try Self.checkSize(query) }
        orders = try Self.orders(query)
        for field in query.projection ?? [] { try QueryLeaf.check(field) }
        projection = query.projection.map { FieldMask($0.lazy.filter { !$0.isDocumentID }) }
        if let projection = query.projection { decodeOnly(projection) }
        let sizes = 0...Int(Int32.max)
        guard sizes.contains(query.limit ?? 0), sizes.contains(query.offset) else {
            throw .invalidArgument("a query's limit and offset must be within 0...2,147,483,647")
        }
        for cursor in [query.start, query.end] {
            guard let cursor else { continue }
            for value in cursor.values { try value.checkNames() }
            guard cursor.values.count <= orders.count else {
                throw .invalidArgument("a cursor has more values than the query has orders")
            }
            for (value, order) in zip(cursor.values, orders) where order.field.isDocumentID {
                _ = try name(value)
            }
        }
        try checkNames()
    }

    /// Has found documents decoded with these fields only, and those that the query itself looks at.
    mutating func decodeOnly(_ fields: [FieldPath]) {
        let looked = disjuncts.joined().map(\.field) + orders.map(\.field) + required
        decodedFields = Set((fields + looked).lazy.filter { !$0.isDocumentID }.map { $0.segments[0] })
    }

    /// Planning looks at each order many times, so that very many of them would keep a thread for minutes.
    ///
    /// - Throws: if the query exceeds Firestore's limit on filters, orders and the document above it together.
    private static func checkSize(_ query: Query) throws(DocumentError) {
        let filters = query.filter.map { QueryLeaf.conditionCount($0) } ?? 0
        let limit = QueryLeaf.maxFilters - (query.parent == nil ? 0 : 1)
        guard filters + query.orderBy.count <= limit else {
            throw .invalidArgument(
                "a query may have 100 filters and orders together, the limit, or 99 below a document, and this one has "
                    + "\(filters) filters and \(query.orderBy.count) orders")
        }
    }

    private static func path(_ query: Query) -> String {
        query.parent.map { $0.string + "/" + query.collectionID } ?? query.collectionID
    }

    private static func orders(_ query: Query) throws(DocumentError) -> [Query.Order] {
        var orders = query.orderBy
        guard Set(orders.map(\.field)).count == orders.count else {
            throw .invalidArgument("a query orders by one field twice")
        }
        for order in orders {
            if !order.field.isDocumentID { try QueryLeaf.check(order.field) }
        }
        let descending = orders.last?.descending ?? false
        let inequalities = QueryLeaf.inequalityFields(of: query.filter)
            .filter { field in !field.isDocumentID && !orders.contains { $0.field == field } }
            .sorted(by: FieldPath.precedes)
        orders += inequalities.map { Query.Order($0, descending: descending) }
        if let name = orders.firstIndex(where: \.field.isDocumentID) {
            guard name == orders.endIndex - 1 else {
                throw .invalidArgument(
                    "an order by clause cannot contain more fields after the key: \(orders[name + 1].field) after __name__"
                )
            }
        } else {
            orders.append(Query.Order(.documentID, descending: descending))
        }
        return orders
    }

    private func checkNames() throws(DocumentError) {
        for leaf in disjuncts.joined() where leaf.field.isDocumentID {
            switch leaf.test {
            case .compare(.arrayContains, _), .null, .notNull, .nan, .notNaN:
                throw .invalidArgument("__name__ can only be compared with document names")
            case .compare(_, let value): _ = try name(value)
            case .none(let values):
                for value in values { _ = try name(value) }
            }
        }
    }

    /// The document that a value names: a reference, or an id or path relative to the queried collection.
    func name(_ value: Value) throws(DocumentError) -> DocumentPath {
        switch value {
        case .reference(let name): return name.path
        case .string(let text):
            if query.allDescendants { return try DocumentPath(text) }
            return try DocumentPath(collection.string + "/" + text)
        default: throw .invalidArgument("__name__ can only be compared with document names")
        }
    }

    /// Whether the query's collection or group contains this document.
    func covers(_ path: DocumentPath) -> Bool {
        guard query.allDescendants else { return collection.contains(path) }
        guard path.parent.id.utf8.elementsEqual(query.collectionID.utf8) else { return false }
        return query.parent.map { path.string.utf8.starts(with: ($0.string + "/").utf8) } ?? true
    }
}
