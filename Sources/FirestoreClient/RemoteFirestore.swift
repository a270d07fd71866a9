package import DocumentModel
import Semaphore
import Synchronization

/// The documents of standalone functions: in Cloud Firestore, an emulator or another host, over REST.
///
/// Supports everything that functions can do with documents, except for tasks and events in a commit: these are
/// features of the embedded store and fail with FAILED_PRECONDITION.
package final class RemoteFirestore: DocumentRequestBackend {
    let service: FirestoreService
    let now: @Sendable () -> Timestamp
    let transactions = Mutex(RemoteTransactions())
    private let rollbacks = Mutex(Rollbacks())
    private let operations = RemoteOperations()
    /// Bytes of responses that may be held.
    private let memory: AsyncSemaphore

    private struct Rollbacks {
        var count = 0
        var tasks: [Int: Task<Void, Never>] = [:]
    }

    /// - Parameter memory: how many bytes of responses may be held in memory at a time.
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
            Task { await perform(request, in: context, slots: nil, completion) }
            return
        }
        operations.run(for: owner) { slots in
            await self.perform(request, in: context, slots: slots, completion)
        }
    }

    package func perform(_ request: DocumentRequest, in context: OperationContext) async -> DocumentResponse {
        await withCheckedContinuation { continuation in
            perform(request, in: context) { continuation.resume(returning: $0) }
        }
    }

    /// - Parameter completion: called with the response, whose memory is held until the call returns.
    private func perform(
        _ request: DocumentRequest, in context: OperationContext, slots: AsyncSemaphore?,
        _ completion: @Sendable (DocumentResponse) -> Void
    ) async {
        let budget = ResponseBudget(of: memory)
        defer { budget.release() }
        // Waits for no slot: other operations may be waiting for what the end of this transaction frees.
        if request.endsTransaction {
            return completion(await ResponseBudget.$current.withValue(budget) { await answer(request, in: context) })
        }
        do throws(CancellationError) {
            try await slots?.acquire()
        } catch {
            return completion(.failed(FirestoreService.cancelled))
        }
        defer { slots?.release() }
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
        for remoteID in transactions.withLock({ $0.release(owner: owner) }) { rollBackInBackground(remoteID) }
        operations.cancel(owner: owner)
    }

    /// Rolls back a transaction at the service in the background, when nothing here refers to it any more.
    func rollBackInBackground(_ remoteID: [UInt8]) {
        rollbacks.withLock { rollbacks in
            rollbacks.count += 1
            let number = rollbacks.count
            rollbacks.tasks[number] = Task {
                await self.rollBackAtService(remoteID)
                self.rollbacks.withLock { $0.tasks[number] = nil }
            }
        }
    }

    /// Rolls back all open transactions and waits for that; otherwise the service would hold their locks for a minute.
    package func shutdown() async {
        for remoteID in transactions.withLock({ $0.releaseAll() }) { rollBackInBackground(remoteID) }
        while let task = rollbacks.withLock({ $0.tasks.values.first }) { await task.value }
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
