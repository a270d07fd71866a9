import CommitPipeline
import DocumentModel
import StorageEngine

/// A commit's part that changes what is kept beside nodes: namespaces, indexes, registrations, settings.
final class RealtimeChangePart<Success>: CommitPart {
    typealias Body = (RealtimeRows, any StorageWriter) throws -> Success

    private let kind: RealtimeRows
    private let body: Body
    private(set) var success: Success?

    init(_ kind: RealtimeRows, _ body: @escaping Body) {
        self.kind = kind
        self.body = body
    }

    func prepare(_ commit: Commit, version: Int64, by routes: EventRoutes, in batch: CommitBatch) throws {}

    func apply(version: Int64, in batch: CommitBatch, to storage: any StorageWriter) throws {
        success = try body(kind, storage)
    }
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
    /// - Parameter body: runs on the writer's thread; what it throws fails the whole batch.
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
