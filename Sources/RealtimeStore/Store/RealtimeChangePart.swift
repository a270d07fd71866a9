import CommitPipeline
import DocumentModel
import StorageEngine

/// A commit's part that changes what is kept beside nodes: namespaces, indexes, registrations, settings.
final class RealtimeChangePart<Success>: CommitPart {
    typealias Body = (RealtimeRows, any StorageWriter) throws -> Success

    private let kind: RealtimeRows
    private let body: Body
    private(set) var success: Success?
    /// Why nothing was changed.
    private(set) var failure: RealtimeFailure?

    init(_ kind: RealtimeRows, _ body: @escaping Body) {
        self.kind = kind
        self.body = body
    }

    func prepare(_ commit: Commit, version: Int64, by routes: EventRoutes, in batch: CommitBatch) throws {}

    func apply(version: Int64, in batch: CommitBatch, to storage: any StorageWriter) throws {
        let writer = NotingWriter(storage)
        do {
            success = try body(kind, writer)
        } catch let error where !writer.hasWritten && Self.isOfRows(error) {
            // Only what it reads is damaged, or can't be read at the moment. The batch has other commits, which don't
            // fail for it.
            if let unread = error as? StorageError, unread.kind == .unavailable { batch.reportUnread(unread) }
            failure = RealtimeFailure(from: error)
        }
    }

    private static func isOfRows(_ error: any Error) -> Bool {
        error is DecodingFailure || (error as? StorageError)?.isOfRows == true
    }
}

/// Notes whether anything was written.
private final class NotingWriter: StorageWriter {
    private let storage: any StorageWriter
    private(set) var hasWritten = false

    init(_ storage: any StorageWriter) { self.storage = storage }

    func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? { try storage.get(table, key) }

    func scan(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
    ) throws { try storage.scan(table, range, reverse: reverse, body) }

    func scanKeys(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
    ) throws { try storage.scanKeys(table, range, reverse: reverse, body) }

    func count(_ table: StorageTable, _ range: KeyRange) throws -> Int { try storage.count(table, range) }

    func key(_ table: StorageTable, _ range: KeyRange, after count: Int) throws -> [UInt8]? {
        try storage.key(table, range, after: count)
    }

    func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws {
        hasWritten = true
        try storage.put(table, key, value)
    }

    func put(_ table: StorageTable, _ rows: RowBlock) throws {
        hasWritten = true
        try storage.put(table, rows)
    }

    func delete(_ table: StorageTable, _ key: [UInt8]) throws {
        hasWritten = true
        try storage.delete(table, key)
    }

    func removeRange(_ table: StorageTable, _ range: KeyRange, atMost limit: Int) throws -> [UInt8]? {
        hasWritten = true
        return try storage.removeRange(table, range, atMost: limit)
    }

    var heldBytes: Int { storage.heldBytes }
}

struct RealtimeChangeJob<Success: Sendable>: CommitJob {
    let kind: RealtimeRows
    let body: @Sendable (RealtimeRows, any StorageWriter) throws -> Success
    let completion: @Sendable (Result<Success, RealtimeFailure>) -> Void

    func run(in batch: CommitBatch) throws {
        let part = RealtimeChangePart(kind, body)
        let outcome = try batch.run(Commit([part]))
        kind.answer(in: batch) { [completion] error in
            let result: Result<Success, RealtimeFailure> =
                if let error {
                    .failure(RealtimeFailure(from: error))
                } else if let failure = part.failure {
                    .failure(failure)
                } else if let success = part.success {
                    .success(success)
                } else if case .refused(let error) = outcome {
                    .failure(RealtimeFailure(from: error))
                } else {
                    .failure(RealtimeFailure(.internal, "a change of the database had no result"))
                }
            return .inOrder(.completion(at: nil) { completion(result) })
        }
    }

    func fail(_ error: DocumentError) {
        kind.hub.complete { [completion] in completion(.failure(RealtimeFailure(from: error))) }
    }
}

extension RealtimeStore {
    /// Changes what is kept beside nodes, in a commit of its own.
    ///
    /// - Parameter body: runs on the writer's thread. What it throws fails the whole batch, but for damage that it meets
    ///   before it changes anything.
    func change<Success: Sendable>(
        _ body: @escaping @Sendable (RealtimeRows, any StorageWriter) throws -> Success
    ) async throws(RealtimeFailure) -> Success {
        let result = await withCheckedContinuation { continuation in
            change(body) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    func change<Success: Sendable>(
        _ body: @escaping @Sendable (RealtimeRows, any StorageWriter) throws -> Success,
        completion: @escaping @Sendable (Result<Success, RealtimeFailure>) -> Void
    ) {
        let job = RealtimeChangeJob(kind: rows, body: body, completion: completion)
        if !pipeline.submit(job, limit: pipeline.configuration.maxWaiting) { job.fail(CommitPipeline.shutDown) }
    }
}
