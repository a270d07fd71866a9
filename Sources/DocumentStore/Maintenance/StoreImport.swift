package import DocumentModel

/// Brings documents into a store in batches of bounded size, each an ordinary commit: they replace those of the same
/// path, are indexed, limited and told of as all are, and one that is there already just so changes nothing.
package struct StoreImport {
    private static let maxWrites = 500
    /// Well below the limit of a commit.
    private static let maxBytes = 4 * 1024 * 1024

    private let store: DocumentStore
    private var batch: [Write] = []
    private var batchBytes = 0
    /// How many documents are durable.
    package private(set) var imported = 0

    package init(_ store: DocumentStore) { self.store = store }

    /// Takes a document, and commits when enough have come together.
    ///
    /// - Throws: `DocumentError` where a document is beyond a limit, or the store can't commit. What was imported until
    ///   then stays.
    package mutating func add(_ path: DocumentPath, _ fields: [String: Value]) async throws(DocumentError) {
        // What index entries it would have is for the commit to say, which knows which fields have none.
        try DocumentLimits.checkContent(fields, of: path)
        try fields.checkNames()
        let size = DocumentLimits.size(of: path) + DocumentLimits.size(of: fields)
        if batch.count >= Self.maxWrites || batchBytes + size > Self.maxBytes { try await commit() }
        batch.append(Write(path: path, operation: .set(fields)))
        batchBytes += size
    }

    /// Commits what is left.
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
    /// - Parameter progress: told how many are gone so far.
    /// - Returns: how many there were.
    /// - Throws: `DocumentError` where the store can't commit, or `CancellationError`; those gone until then stay gone.
    package func clear(_ progress: (Int) async throws -> Void = { _ in }) async throws -> Int {
        var deleted = 0
        while true {
            try Task.checkCancellation()
            let found: Result<[DocumentPath], DocumentError> = await withCheckedContinuation { continuation in
                self.paths(atMost: Self.clearBatch) { continuation.resume(returning: $0) }
            }
            let paths = try found.get()
            guard !paths.isEmpty else { return deleted }
            try await commitAll(paths.map { Write(path: $0, operation: .delete) })
            deleted += paths.count
            try await progress(deleted)
        }
    }

    /// Commits writes in order, in several commits where the documents that they replace are too large for one.
    ///
    /// - Parameter told: how many more are durable.
    fileprivate func commitAll(
        _ writes: [Write], told: (Int) -> Void = { _ in }
    ) async throws(DocumentError) {
        var rest = writes[...]
        var size = rest.count
        while !rest.isEmpty {
            let part = Array(rest.prefix(size))
            let request = DocumentRequest.commit(part, transaction: nil, completing: nil)
            switch await perform(request, in: OperationContext(firesEvents: false)) {
            case .committed:
                told(part.count)
                rest = rest.dropFirst(size)
            case .failed(let error):
                guard size > 1, error == .readsTooMuch(configuration.maxCommitReadBytes) else { throw error }
                size /= 2
            case let other: throw DocumentError(.internal, "a commit was answered with \(other)")
            }
        }
    }
}
