package import DocumentModel
import Semaphore
import Synchronization

/// The documents of functions that are served alone: Cloud Firestore's, an emulator's or another host's, over REST.
///
/// Everything that functions ask of documents is there. What the embedded store does beyond that, tasks and events in
/// a commit, is refused with FAILED_PRECONDITION.
package final class RemoteFirestore: DocumentBackend {
    let service: FirestoreService
    let now: @Sendable () -> Timestamp
    let transactions = Mutex(RemoteTransactions())
    private let releases = Mutex(Releases())
    private let operations = RemoteOperations()
    /// Bytes of responses that may be held.
    private let memory: AsyncSemaphore

    private struct Releases {
        var count = 0
        var tasks: [Int: Task<Void, Never>] = [:]
    }

    /// - Parameter memory: the bytes of responses that are held at a time.
    init(service: FirestoreService, memory: Int = ResponseBudget.total, now: @escaping @Sendable () -> Timestamp) {
        self.service = service
        self.now = now
        self.memory = AsyncSemaphore(memory)
    }

    var database: DatabaseID { service.database }

    package func perform(
        _ request: DocumentRequest, in context: OperationContext,
        completion: @escaping @Sendable (DocumentResponse) -> Void
    ) {
        guard let owner = context.owner else {
            Task { await perform(request, in: context, places: nil, completion) }
            return
        }
        operations.run(for: owner) { places in
            await self.perform(request, in: context, places: places, completion)
        }
    }

    package func perform(_ request: DocumentRequest, in context: OperationContext) async -> DocumentResponse {
        await withCheckedContinuation { continuation in
            perform(request, in: context) { continuation.resume(returning: $0) }
        }
    }

    /// - Parameter completion: called with an answer whose memory is held until this returns.
    private func perform(
        _ request: DocumentRequest, in context: OperationContext, places: AsyncSemaphore?,
        _ completion: @Sendable (DocumentResponse) -> Void
    ) async {
        let budget = ResponseBudget(of: memory)
        defer { budget.release() }
        // The others may wait for what this gives free.
        if request.endsTransaction {
            return completion(await ResponseBudget.$current.withValue(budget) { await answer(request, in: context) })
        }
        do throws(CancellationError) {
            try await places?.acquire()
        } catch {
            return completion(.failed(FirestoreService.cancelled))
        }
        defer { places?.release() }
        do throws(CancellationError) {
            try await budget.acquire(ResponseBudget.step)
        } catch {
            return completion(.failed(FirestoreService.cancelled))
        }
        completion(await ResponseBudget.$current.withValue(budget) { await answer(request, in: context) })
    }

    private func answer(_ request: DocumentRequest, in context: OperationContext) async -> DocumentResponse {
        do throws(DocumentError) {
            switch request {
            case .get(let paths, let consistency): return try await get(paths, consistency, context)
            case .query(let query, let consistency): return try await self.query(query, consistency, context)
            case .aggregate(let query, let fields, let consistency):
                return try await aggregate(query, fields, consistency, context)
            case .explain(let query, let fields, let analyze, let consistency):
                return try await explain(query, fields, analyze: analyze, consistency, context)
            case .partition(let query, let points, let consistency):
                return try await partition(query, points: points, consistency)
            case .begin(let mode): return try await begin(mode, context)
            case .commit(let writes, let transaction, let answer, let effects):
                return try await commit(writes, transaction, completing: answer, effects, context)
            case .batchWrite(let writes): return try await batchWrite(writes)
            case .rollback(let id): return try await rollback(id, context)
            }
        } catch {
            return .failed(error)
        }
    }

    package func release(owner: UInt64) {
        for remote in transactions.withLock({ $0.release(owner: owner) }) { leave(remote) }
        operations.cancel(owner: owner)
    }

    /// Rolls back at the service what nobody here knows any more.
    func leave(_ remote: [UInt8]) {
        releases.withLock { releases in
            releases.count += 1
            let number = releases.count
            releases.tasks[number] = Task {
                await self.abandon(remote)
                self.releases.withLock { $0.tasks[number] = nil }
            }
        }
    }

    /// Rolls back all that is open, and waits for it: the service would hold its locks for a minute.
    package func shutdown() async {
        for remote in transactions.withLock({ $0.releaseAll() }) { leave(remote) }
        while let task = releases.withLock({ $0.tasks.values.first }) { await task.value }
    }
}

extension DocumentRequest {
    fileprivate var endsTransaction: Bool {
        switch self {
        case .commit(_, .some, _, _), .rollback: true
        default: false
        }
    }
}
