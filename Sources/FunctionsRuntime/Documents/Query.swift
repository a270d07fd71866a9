package import DocumentModel

/// A query: which documents, in which order, from where to where. Each step returns a new query.
public struct Query: Sendable {
    public let firestore: Firestore
    /// The query for the store, except for the reversal for ``limitsToLast``.
    var model: DocumentModel.Query
    var limitsToLast = false
    /// Whether the order was completed for a document's cursor.
    var hasCompleteOrder = false
    /// The first error of a step, thrown when the query is used.
    private(set) var problem: DocumentError?

    init(_ model: DocumentModel.Query, firestore: Firestore, problem: DocumentError? = nil) {
        self.model = model
        self.firestore = firestore
        self.problem = problem
    }

    init(collectionGroup id: String, firestore: Firestore) {
        let model = DocumentModel.Query(collectionID: id, allDescendants: true)
        // A query without an id finds the documents of all collections.
        let isValid = !id.isEmpty && !id.utf8.contains(UInt8(ascii: "/"))
        let problem: DocumentError? =
            isValid ? nil : .invalidArgument("\"\(id)\" isn't a collection id; an id isn't empty and has no slash")
        self.init(model, firestore: firestore, problem: problem)
    }

    /// Returns the query after a change. An error is kept until the query is used.
    func changed(_ change: (inout Query) throws(DocumentError) -> Void) -> Query {
        var copy = self
        do {
            try change(&copy)
        } catch {
            copy.problem = problem ?? error
        }
        return copy
    }

    /// The query to send, and whether its results are reversed: the last documents are requested as the first ones of
    /// the reversed order.
    package func resolved() throws(DocumentError) -> (model: DocumentModel.Query, isReversed: Bool) {
        if let problem { throw problem }
        guard limitsToLast else { return (model, false) }
        guard !model.orderBy.isEmpty else {
            throw .invalidArgument("limit(toLast:) requires an order; add order(by:)")
        }
        var reversed = model
        reversed.orderBy = model.orderBy.map { .init($0.field, descending: !$0.descending) }
        reversed.start = model.end.map { .init(values: $0.values, before: !$0.before) }
        reversed.end = model.start.map { .init(values: $0.values, before: !$0.before) }
        return (reversed, true)
    }

    func snapshot(of documents: [DocumentModel.Document], isReversed: Bool) -> QuerySnapshot {
        let snapshots = documents.map { DocumentSnapshot($0, firestore: firestore) }
        return QuerySnapshot(documents: isReversed ? snapshots.reversed() : snapshots)
    }
}

/// A collection or a query, which can be filtered, ordered and read.
public protocol Queryable: Sendable {
    var query: Query { get }
}

extension Query: Queryable {
    public var query: Query { self }
}
