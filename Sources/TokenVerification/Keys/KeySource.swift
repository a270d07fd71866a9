/// Where an issuer's keys come from.
package protocol KeySource: Sendable {
    /// Fetches all keys that are valid now, within a bounded time.
    ///
    /// - Throws: where they can't be had or make no sense; the keys already held stay in use.
    func fetch() async throws(KeySourceError) -> FetchedKeys
}

/// Keys as just fetched.
package struct FetchedKeys: Sendable {
    /// Never empty.
    package var keys: KeySet
    /// Seconds the issuer says that they may be kept.
    package var maxAge: Int64

    package init(keys: KeySet, maxAge: Int64) {
        self.keys = keys
        self.maxAge = maxAge
    }
}

/// Why an issuer's keys could not be had.
package struct KeySourceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for the log.
    package var description: String

    package init(_ description: String) { self.description = description }
}
