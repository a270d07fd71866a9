package import DocumentStore

/// What `firestore.indexes.json` says, checked: the same file that Firebase's tools read and write.
package struct IndexFile: Hashable, Sendable {
    package var configuration = IndexConfiguration()
    /// Fields whose documents are to expire, which this host doesn't do: `sessions.expiresAt`.
    package var expiring: [String] = []
    /// Indexes that Firebase has and this host doesn't, each with its place in the file.
    package var skipped: [String] = []

    package init() {}

    /// - Throws: all problems of the file at once.
    package static func load(_ path: String) throws(ConfigurationError) -> IndexFile {
        try ConfigurationReader.readIndexes(try ConfigurationFile.read(path), file: path)
    }
}

extension ConfigurationKeys {
    static let indexFile = ["indexes", "fieldOverrides"]
    static let index = ["collectionGroup", "queryScope", "fields", "density", "apiScope", "multikey", "unique"]
    static let indexField = ["fieldPath", "order", "arrayConfig", "vectorConfig"]
    static let fieldOverride = ["collectionGroup", "fieldPath", "indexes", "ttl"]
    static let fieldOverrideIndex = [
        "order", "arrayConfig", "vectorConfig", "queryScope", "density", "apiScope", "multikey", "unique",
    ]
}
