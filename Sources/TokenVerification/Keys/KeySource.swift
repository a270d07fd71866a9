/// Provides an issuer's keys.
package protocol KeySource: Sendable {
    /// Fetches all keys that are valid now, within a bounded time.
    ///
    /// - Throws: if the keys can't be fetched or read. Keys that are already cached stay in use.
    func fetch() async throws(KeySourceError) -> FetchedKeys
}

/// The result of a fetch.
package struct FetchedKeys: Sendable {
    /// Never empty.
    package var keys: KeySet
    /// How many seconds the issuer allows the keys to be cached.
    package var maxAge: Int64

    package init(keys: KeySet, maxAge: Int64) {
        self.keys = keys
        self.maxAge = maxAge
    }
}

/// Why an issuer's keys can't be fetched.
package struct KeySourceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for the log.
    package var description: String

    package init(_ description: String) { self.description = description }
}
