/// How the store executes a query, and what the execution cost.
public struct QueryExplanation: Hashable, Sendable {
    /// An index that the query uses.
    public struct IndexUse: Hashable, Sendable {
        /// `Collection` or `Collection group`, as in Firestore's explanations.
        public var scope: String
        /// `(owner ASC, price DESC, __name__ DESC)`.
        public var properties: String

        public init(scope: String, properties: String) {
            self.scope = scope
            self.properties = properties
        }
    }

    /// What the execution read.
    public struct Cost: Hashable, Sendable {
        public var documentsReturned: Int
        public var indexEntriesRead: Int
        public var documentsRead: Int
        public var microseconds: Int64

        public init(
            documentsReturned: Int = 0, indexEntriesRead: Int = 0, documentsRead: Int = 0, microseconds: Int64 = 0
        ) {
            self.documentsReturned = documentsReturned
            self.indexEntriesRead = indexEntriesRead
            self.documentsRead = documentsRead
            self.microseconds = microseconds
        }
    }

    /// The indexes used. Documents that are read one by one are one by `__name__`.
    public var indexes: [IndexUse]
    /// How the indexes are combined, in one readable line per part of the query.
    public var steps: [String]
    /// Nil if the query was only planned.
    public var cost: Cost?
    /// The composite index that would avoid most reads, ready for the `indexes` of `firestore.indexes.json`.
    public var suggestedIndex: String?

    public init(indexes: [IndexUse], steps: [String], cost: Cost? = nil, suggestedIndex: String? = nil) {
        self.indexes = indexes
        self.steps = steps
        self.cost = cost
        self.suggestedIndex = suggestedIndex
    }
}
