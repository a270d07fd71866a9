package import DocumentStore

/// The validated content of `firestore.indexes.json`, the file that Firebase's tools read and write.
package struct IndexFile: Hashable, Sendable {
    package var configuration = IndexConfiguration()
    /// Fields with a time to live, such as `sessions.expiresAt`. This host doesn't delete expired documents.
    package var expiring: [String] = []
    /// Messages about indexes that this host doesn't support, each with its place in the file.
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
