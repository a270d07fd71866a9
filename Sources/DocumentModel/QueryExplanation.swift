/// How the store answers a query, and what that cost where it was run.
public struct QueryExplanation: Hashable, Sendable {
    /// One index that is read.
    public struct IndexUse: Hashable, Sendable {
        /// `Collection` or `Collection group`, as Firestore's explanations have it.
        public var scope: String
        /// `(owner ASC, price DESC, __name__ DESC)`.
        public var properties: String

        public init(scope: String, properties: String) {
            self.scope = scope
            self.properties = properties
        }
    }

    /// What running the query read.
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

    /// Those that are read; none where documents are looked at one after the other.
    public var indexes: [IndexUse]
    /// How these are put together, in words for people: one line for each part of the query.
    public var steps: [String]
    /// Nil where the query was planned only.
    public var cost: Cost?
    /// The composite index that would spare most of what was read, ready for the `indexes` of `firestore.indexes.json`.
    public var suggestedIndex: String?

    public init(indexes: [IndexUse], steps: [String], cost: Cost? = nil, suggestedIndex: String? = nil) {
        self.indexes = indexes
        self.steps = steps
        self.cost = cost
        self.suggestedIndex = suggestedIndex
    }
}
