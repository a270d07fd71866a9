import CommitPipeline
import DocumentModel

/// A read that a reader answers from a snapshot.
protocol DocumentRead: SnapshotJob {
    associatedtype Answer: Sendable

    var store: DocumentStore { get }

    /// The time of the state that is to be read; nil unless the caller names it.
    var readTime: Timestamp? { get }

    var context: OperationContext { get }

    /// Whose turn it waits for; nil if it never waits for other callers' reads.
    var caller: ReadCaller? { get }

    /// - Returns: nil if the snapshot of this version doesn't hold the state yet.
    func answer(from view: DocumentView, version: Int64) throws -> Answer?

    func complete(_ result: Result<Answer, DocumentError>)
}

extension DocumentRead {
    var caller: ReadCaller? { nil }

    var isWanted: Bool { !(context.cancellation?.isCancelled ?? false) }

    func run(on snapshot: Snapshot) {
        do {
            let view = try store.parts.view(of: snapshot)
            guard let answer = try answer(from: view, version: snapshot.version) else {
                if !store.pipeline.submit(LaterRead(read: self)) { end(.failure(CommitPipeline.shutDown), snapshot) }
                return
            }
            end(.success(answer), snapshot)
        } catch {
            end(.failure(DocumentError(from: error)), snapshot)
        }
    }

    private func end(_ result: Result<Answer, DocumentError>, _ snapshot: Snapshot) {
        snapshot.complete { complete(result) }
    }

    func fail(_ error: DocumentError) { complete(.failure(error)) }
}

/// A read of a state that isn't durable yet: that of the present moment, or one that its transaction has seen in the
/// open batch.
struct LaterRead<Read: DocumentRead>: CommitJob {
    let read: Read

    func run(in batch: CommitBatch) {
        // Once a state at that time has been read, no commit may happen at or before it.
        if let time = read.readTime { batch.versions.claim(time.microseconds) }
        batch.whenDurable { [read] error in
            if let error { return read.fail(error) }
            read.store.pipeline.read(read, of: read.caller)
        }
    }

    func fail(_ error: DocumentError) { read.fail(error) }
}

/// A read of the newest state for a part of the store itself.
struct ViewRead<Answer: Sendable>: DocumentRead {
    let store: DocumentStore
    var context = OperationContext()
    var caller: ReadCaller?
    let completion: DocumentStore.Completion<Answer>
    let body: @Sendable (DocumentView, _ version: Int64) throws -> Answer

    var readTime: Timestamp? { nil }

    func answer(from view: DocumentView, version: Int64) throws -> Answer? { try body(view, version) }
    func complete(_ result: Result<Answer, DocumentError>) { completion(result) }
}
