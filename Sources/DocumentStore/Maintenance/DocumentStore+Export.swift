import CommitPipeline
package import StorageEngine
package import DocumentModel

extension DocumentStore {
    /// Visits documents in the order of their names, all as of one time, in its own read session: commits go on
    /// meanwhile. Blocks the calling thread.
    ///
    /// - Parameters:
    ///   - collections: the collections to visit, with everything below their documents; empty for all.
    ///   - begin: called first, with the time.
    ///   - damaged: called with a sentence about each document that can't be read, or about those of which not even the
    ///     names can. They are left out.
    ///   - end: called last, with the state that the documents are from: for other kinds of data.
    /// - Throws: `DocumentError` if the store can't be read, or what the closures throw.
    package func export(
        _ collections: [CollectionPath] = [], begin: (Timestamp) throws -> Void,
        document: (Document) throws -> Void,
        damaged: (String) throws -> Void = { throw DocumentError(.dataLoss, $0) },
        end: (any StorageReader) throws -> Void = { _ in }
    ) throws {
        try reading { storage in
            try begin(Timestamp(microseconds: try StoreVersion.read(storage)))
            for range in Self.ranges(of: collections) {
                func skip(_ key: [UInt8], _ reason: String) throws {
                    try damaged("the document \"\(DocumentKeys.path(of: key))\" can't be read: \(reason)")
                }
                func skipGap(_ last: [UInt8]?, _ next: [UInt8]?, _ error: StorageError) throws {
                    let start = last.map { " after \"\(DocumentKeys.path(of: $0))\"" } ?? ""
                    let end = next.map { " before \"\(DocumentKeys.path(of: $0))\"" } ?? ""
                    try damaged("the documents\(start)\(end) can't be read: \(error.message)")
                }
                try storage.scanReadable(
                    .documents, range, damaged: { try skip($0, $1.message) }, gap: skipGap
                ) { key, bytes in
                    let found: Document
                    do {
                        found = try StoredDocument.decode(bytes, path: try DocumentPath(DocumentKeys.path(of: key)))
                    } catch let error as DecodingFailure {
                        try skip(key, error.reason)
                        return true
                    } catch let error as DocumentError {
                        try skip(key, error.message)
                        return true
                    }
                    try document(found)
                    return true
                }
            }
            try end(storage)
        }
    }

    /// Reads other kinds of data than documents as of one time, in its own read session. Blocks the calling thread.
    ///
    /// - Throws: `DocumentError` if the store can't be read, or what the body throws.
    package func read<Result>(_ body: (Timestamp, any StorageReader) throws -> Result) throws -> Result {
        try reading { try body(Timestamp(microseconds: try StoreVersion.read($0)), $0) }
    }

    /// Runs the body on one state, in a session of its own.
    func reading<Result>(_ body: (any StorageReader) throws -> Result) throws -> Result {
        do {
            return try engine.makeReadSession().read(body)
        } catch let error as StorageError {
            throw error.documentError
        } catch let error as DecodingFailure {
            throw DocumentError(from: error)
        }
    }

    /// The key ranges in and below collections, without overlaps and in order.
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
