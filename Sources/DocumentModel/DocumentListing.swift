/// A page of a collection's documents, with those that don't exist and have documents below them.
package struct DocumentListing: Hashable, Sendable {
    package var collection: CollectionPath
    /// That of the page before, which only the backend that made it can read; nil for the first page.
    package var token: String?
    /// The maximum number of ids, 1 to ``maxLimit``. A page may have fewer, and others may follow.
    package let limit: Int

    /// The ids of a page are at most 1.5 MB.
    package static let maxLimit = 1000

    /// - Parameter limit: The nearest possible one counts.
    package init(_ collection: CollectionPath, token: String? = nil, limit: Int = maxLimit) {
        self.collection = collection
        self.token = token
        self.limit = max(1, min(limit, Self.maxLimit))
    }
}
