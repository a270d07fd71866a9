public import DocumentModel

extension Queryable {
    /// Adds a filter that documents must match. Inequalities, which also order, come before a document's cursor.
    public func whereFilter(_ filter: Filter) -> Query {
        query.changed { (query) throws(DocumentError) in
            let added = try filter.model(for: query)
            // In the order that the cursor was made for, their fields would only break ties of names.
            let orders = query.model.orderBy.map(\.field)
            if query.hasCompleteOrder, let field = added.inequalityFields.first(where: { !orders.contains($0) }) {
                throw .invalidArgument(
                    "an inequality on \(field) comes after a document's cursor; move it before start and end")
            }
            switch query.model.filter {
            case nil: query.model.filter = added
            case .and(let filters)?: query.model.filter = .and(filters + [added])
            case let before?: query.model.filter = .and([before, added])
            }
        }
    }

    /// Orders by a field. Documents without the field aren't returned. Further orders break ties. Cursors, such as
    /// `start(afterDocument:)`, come after all orders.
    public func order(by field: some FieldPathConvertible, descending: Bool = false) -> Query {
        query.changed { (query) throws(DocumentError) in
            // A document's cursor has completed the order already: what follows would only break ties of names.
            guard query.model.start == nil, query.model.end == nil else {
                throw .invalidArgument("order(by:) comes after a cursor; move it before start and end")
            }
            query.model.orderBy.append(.init(try field.fieldPath(), descending: descending))
        }
    }

    /// Limits the number of documents.
    public func limit(to count: Int) -> Query { limit(count, last: false) }

    /// Limits the number of documents, and returns the last ones of the order. Requires an order.
    public func limit(toLast count: Int) -> Query { limit(count, last: true) }

    private func limit(_ count: Int, last: Bool) -> Query {
        query.changed { (query) throws(DocumentError) in
            guard count > 0 else { throw .invalidArgument("a query's limit must be at least 1, not \(count)") }
            // Stores know no larger one, and none finds as many.
            query.model.limit = min(count, Int(Int32.max))
            query.limitsToLast = last
        }
    }

    /// Skips documents. They are read anyway, so a cursor is cheaper.
    public func offset(_ count: Int) -> Query {
        query.changed { (query) throws(DocumentError) in
            guard count >= 0 else { throw .invalidArgument("a query's offset must be at least 0, not \(count)") }
            query.model.offset = count
        }
    }

    /// Returns only these fields of each document.
    public func select(_ fields: [any FieldPathConvertible]) -> Query {
        query.changed { (query) throws(DocumentError) in
            var paths: [FieldPath] = []
            for field in fields { paths.append(try field.fieldPath()) }
            query.model.projection = paths.isEmpty ? [.documentID] : paths
        }
    }

    /// Reads the documents.
    public func getDocuments() async throws(DocumentError) -> QuerySnapshot {
        let query = query
        let (model, isReversed) = try query.resolved()
        let documents = try await query.firestore.transport.query(model).documents
        return query.snapshot(of: documents, isReversed: isReversed)
    }

    /// Reads the documents and decodes them as a `Codable` type.
    public func getDocuments<T: Decodable & Sendable>(as type: T.Type) async throws -> [Document<T>] {
        try await getDocuments().documents(as: type)
    }
}

/// A field name: a dotted `String`, or a `FieldPath`.
public protocol FieldPathConvertible: Sendable {
    /// - Throws: `invalidArgument` if this isn't a valid field path.
    func fieldPath() throws(DocumentError) -> FieldPath
}

extension String: FieldPathConvertible {
    public func fieldPath() throws(DocumentError) -> FieldPath { try FieldPath(self) }
}

extension FieldPath: FieldPathConvertible {
    public func fieldPath() throws(DocumentError) -> FieldPath { self }
}

extension FieldPath {
    /// The path with these names, as in Firebase's SDKs. They are used unchanged, including dots.
    /// - Precondition: There is at least one name.
    public init(_ fieldNames: [String]) { self.init(segments: fieldNames) }
}
