import CommitPipeline
import StorageEngine
package import DocumentModel

extension DocumentStore {
    /// Visits documents in the order of their names, all as of one time, in a read session of its own: commits go on
    /// beside it. Blocks the calling thread.
    ///
    /// - Parameters:
    ///   - collections: with all that lies below their documents; none for everything.
    ///   - begin: told the time first.
    /// - Throws: `DocumentError` where the store can't be read, or what the bodies throw.
    package func export(
        _ collections: [CollectionPath] = [], begin: (Timestamp) throws -> Void,
        document: (Document) throws -> Void
    ) throws {
        try reading { storage in
            try begin(Timestamp(microseconds: try StoreVersion.read(storage)))
            for range in Self.ranges(of: collections) {
                try storage.scan(.documents, range, reverse: false) { key, bytes in
                    let path = try DocumentPath(DocumentKeys.path(of: key))
                    try document(try StoredDocument.decode(bytes, path: path))
                    return true
                }
            }
        }
    }

    /// Runs the body on one state, in a session that is nobody else's.
    func reading<Result>(_ body: (any StorageReader) throws -> Result) throws -> Result {
        do {
            return try engine.makeReadSession().read(body)
        } catch let error as StorageError {
            throw error.documentError
        } catch let error as DecodingFailure {
            throw DocumentError(from: error)
        }
    }

    /// What lies in and below collections, each part once and in order.
    private static func ranges(of collections: [CollectionPath]) -> [KeyRange] {
        guard !collections.isEmpty else { return [KeyRange.all] }
        var prefixes = collections.map { path in
            var prefix: [UInt8] = []
            DocumentKeys.append(path.string, to: &prefix)
            return prefix
        }
        prefixes.sort { $0.lexicographicallyPrecedes($1) }
        var kept: [[UInt8]] = []
        for prefix in prefixes where !(kept.last.map { prefix.starts(with: $0) } ?? false) { kept.append(prefix) }
        return kept.map { KeyRange(prefix: $0) }
    }
}
