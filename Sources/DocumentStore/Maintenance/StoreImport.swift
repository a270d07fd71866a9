package import DocumentModel

/// Imports documents in batches of bounded size. Each batch is an ordinary commit: it replaces documents with the same
/// path, is indexed and limited, and is delivered to listeners; a document that is already identical isn't changed.
package struct StoreImport {
    private static let maxWrites = 500
    /// Well below the limit of a commit.
    private static let maxBytes = 4 * 1024 * 1024

    private let store: DocumentStore
    private var batch: [Write] = []
    private var batchBytes = 0
    /// The number of documents that are durable.
    package private(set) var imported = 0

    package init(_ store: DocumentStore) { self.store = store }

    /// Checks what a document may be. The commit checks its index entries, because it knows the exemptions of fields.
    ///
    /// - Throws: `invalidArgument` if it exceeds a limit, or a field's name isn't possible.
    package static func check(_ path: DocumentPath, _ fields: [String: Value]) throws(DocumentError) {
        try DocumentLimits.checkContent(fields, of: path)
        try fields.checkNames()
    }

    /// Adds a document, and commits once enough have been added.
    ///
    /// - Parameter fields: have passed ``check(_:_:)``.
    /// - Throws: `DocumentError` if the store can't commit those that were added. Documents imported before that stay.
    package mutating func add(_ path: DocumentPath, _ fields: [String: Value]) async throws(DocumentError) {
        let size = DocumentLimits.size(of: path) + DocumentLimits.size(of: fields)
        if batch.count >= Self.maxWrites || batchBytes + size > Self.maxBytes { try await commit() }
        batch.append(Write(path: path, operation: .set(fields)))
        batchBytes += size
    }

    /// Commits the remaining documents.
    package mutating func finish() async throws(DocumentError) {
        if !batch.isEmpty { try await commit() }
    }

    private mutating func commit() async throws(DocumentError) {
        try await store.commitAll(batch) { imported += $0 }
        batch = []
        batchBytes = 0
    }
}

extension DocumentStore {
    private static let clearBatch = 500

    /// Deletes every document, batch by batch.
    ///
    /// - Parameter progress: called with the number of documents deleted so far.
    /// - Returns: the total number of documents deleted.
    /// - Throws: `DocumentError` if the store can't commit, or `CancellationError`; documents deleted before that stay
    ///   deleted.
    package func clear(_ progress: (Int) async throws -> Void = { _ in }) async throws -> Int {
        var deleted = 0
        // A search from the first key on passes all that RocksDB has deleted and not yet merged.
        var last: DocumentPath?
        while true {
            try Task.checkCancellation()
            let position = last
            let found: Result<[DocumentPath], DocumentError> = await withCheckedContinuation { continuation in
                self.paths(atMost: Self.clearBatch, after: position) { continuation.resume(returning: $0) }
            }
            let paths = try found.get()
            guard !paths.isEmpty else {
                if position == nil { return deleted }
                // Documents may have been written meanwhile before the position.
                last = nil
                continue
            }
            try await commitAll(paths.map { Write(path: $0, operation: .delete) })
            deleted += paths.count
            last = paths.last
            try await progress(deleted)
        }
    }

    /// Commits writes in order, in several commits if the documents that they replace are too large for one.
    ///
    /// - Parameter told: called with the number of further durable documents.
    fileprivate func commitAll(
        _ writes: [Write], told: (Int) -> Void = { _ in }
    ) async throws(DocumentError) {
        var rest = writes[...]
        var size = rest.count
        while !rest.isEmpty {
            let part = Array(rest.prefix(size))
            do throws(DocumentError) {
                _ = try await commit(part, in: OperationContext(firesEvents: false))
            } catch {
                guard size > 1, error == .readsTooMuch(configuration.maxCommitReadBytes) else { throw error }
                size /= 2
                continue
            }
            told(part.count)
            rest = rest.dropFirst(size)
        }
    }
}
