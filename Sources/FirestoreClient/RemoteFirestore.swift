package import DocumentModel
import Sharing
import Synchronization

/// The documents of standalone functions: in Cloud Firestore, an emulator or another host, over REST.
///
/// Supports everything that functions can do with documents, except for tasks and events in a commit: these are
/// features of the embedded store and fail with FAILED_PRECONDITION.
package final class RemoteFirestore: DocumentBackend {
    let service: FirestoreService
    let now: @Sendable () -> Timestamp
    let transactions = Mutex(RemoteTransactions())
    private let rollbacks = Mutex(Rollbacks())
    private let operations = RemoteOperations()
    let claims = CompletionClaims()
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

    /// Runs an operation within the bounds on memory and on its invocation's requests.
    ///
    /// - Parameters:
    ///   - endsTransaction: Whether it waits for neither: other operations may be waiting for what the end of this
    ///     transaction frees.
    ///   - completion: called with the answer, whose memory is held until the call returns.
    func run<Answer: Sendable>(
        in context: OperationContext, endsTransaction: Bool = false, _ completion: @escaping Completion<Answer>,
        _ operation: @escaping @Sendable () async throws(DocumentError) -> Answer
    ) {
        guard let owner = context.owner else {
            Task { await self.run(nil, endsTransaction: endsTransaction, completion, operation) }
            return
        }
        operations.run(for: owner) { slots in
            await self.run(slots, endsTransaction: endsTransaction, completion, operation)
        }
    }

    private func run<Answer: Sendable>(
        _ slots: AsyncSemaphore?, endsTransaction: Bool, _ completion: Completion<Answer>,
        _ operation: @escaping @Sendable () async throws(DocumentError) -> Answer
    ) async {
        let budget = ResponseBudget(of: memory)
        defer { budget.release() }
        if endsTransaction { return completion(await answer(operation, budget)) }
        do throws(CancellationError) {
            try await slots?.acquire()
        } catch {
            return completion(.failure(FirestoreService.cancelled))
        }
        defer { slots?.release() }
        do throws(CancellationError) {
            try await budget.acquire(ResponseBudget.step)
        } catch {
            return completion(.failure(FirestoreService.cancelled))
        }
        completion(await answer(operation, budget))
    }

    private func answer<Answer: Sendable>(
        _ operation: @escaping @Sendable () async throws(DocumentError) -> Answer, _ budget: ResponseBudget
    ) async -> Result<Answer, DocumentError> {
        await ResponseBudget.$current.withValue(budget) {
            do throws(DocumentError) { return .success(try await operation()) } catch { return .failure(error) }
        }
    }

    package func release(owner: UInt64) {
        for remoteID in transactions.withLock({ $0.release(owner: owner) }) { rollBackInBackground(remoteID) }
        operations.cancel(owner: owner)
        claims.release(owner: owner, by: self)
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

// MARK: Operations

extension RemoteFirestore {
    package func get(
        _ paths: [DocumentPath], _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<DocumentsAnswer>
    ) {
        run(in: context, completion) { () throws(DocumentError) in try await self.get(paths, consistency, context) }
    }

    package func query(
        _ query: Query, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<QueryAnswer>
    ) {
        run(in: context, completion) { () throws(DocumentError) in
            try await self.query(query, consistency, context)
        }
    }

    package func nearest(
        _ search: VectorSearch, of query: Query, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<QueryAnswer>
    ) {
        run(in: context, completion) { () throws(DocumentError) in
            try await self.nearest(search, of: query, consistency, context)
        }
    }

    package func aggregate(
        _ query: Query, _ fields: [AggregateField], _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<AggregateAnswer>
    ) {
        run(in: context, completion) { () throws(DocumentError) in
            try await self.aggregate(query, fields, consistency, context)
        }
    }

    package func explain(
        _ query: Query, _ fields: [AggregateField], analyze: Bool, _ consistency: ReadConsistency,
        in context: OperationContext, completion: @escaping Completion<ExplainAnswer>
    ) {
        run(in: context, completion) { () throws(DocumentError) in
            try await self.explain(query, fields, analyze: analyze, consistency, context)
        }
    }

    package func partition(
        _ query: Query, points: Int, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<PartitionAnswer>
    ) {
        run(in: context, completion) { () throws(DocumentError) in
            try await self.partition(query, points: points, consistency)
        }
    }

    package func collectionIDs(
        below parent: DocumentPath?, in context: OperationContext, completion: @escaping Completion<[String]>
    ) {
        run(in: context, completion) { () throws(DocumentError) in try await self.collectionIDs(below: parent) }
    }

    package func list(
        _ page: DocumentListing, in context: OperationContext, completion: @escaping Completion<ListingAnswer>
    ) {
        run(in: context, completion) { () throws(DocumentError) in try await self.service.list(page) }
    }

    package func descendants(
        _ page: Descendants, in context: OperationContext, completion: @escaping Completion<[DocumentPath]>
    ) {
        run(in: context, completion) { () throws(DocumentError) in try await self.descendants(page, context) }
    }

    package func begin(
        _ mode: TransactionMode, in context: OperationContext, completion: @escaping Completion<BeginAnswer>
    ) {
        run(in: context, completion) { () throws(DocumentError) in try await self.begin(mode, context) }
    }

    package func commit(
        _ writes: [Write], transaction: TransactionID?, completing: [UInt8]?, effects: [Effect],
        in context: OperationContext, completion: @escaping Completion<CommitAnswer>
    ) {
        run(in: context, endsTransaction: transaction != nil, completion) { () throws(DocumentError) in
            try await self.commit(writes, transaction, completing: completing, effects, context)
        }
    }

    package func batchWrite(
        _ writes: [Write], in context: OperationContext,
        completion: @escaping Completion<[Result<WriteResult, DocumentError>]>
    ) {
        run(in: context, completion) { () throws(DocumentError) in try await self.batchWrite(writes) }
    }

    package func rollback(
        _ transaction: TransactionID, in context: OperationContext, completion: @escaping Completion<RollbackAnswer>
    ) {
        run(in: context, endsTransaction: true, completion) { () throws(DocumentError) in
            try await self.rollback(transaction, context)
        }
    }
}
