package import DocumentModel
package import DocumentStore
import Synchronization

/// The documents of functions that are served alone: Cloud Firestore's, an emulator's or another host's, over REST.
///
/// Everything that functions ask of documents is there. What the embedded store does beyond that, tasks and events in
/// a commit, is refused with FAILED_PRECONDITION.
package final class RemoteFirestore: WorkerDocuments {
    let service: FirestoreService
    let now: @Sendable () -> Timestamp
    let transactions = Mutex(RemoteTransactions())
    private let releases = Mutex(Releases())

    private struct Releases {
        var count = 0
        var tasks: [Int: Task<Void, Never>] = [:]
    }

    init(service: FirestoreService, now: @escaping @Sendable () -> Timestamp) {
        self.service = service
        self.now = now
    }

    var database: DatabaseID { service.database }

    package func perform(
        _ request: DocumentRequest, in context: OperationContext,
        completion: @escaping @Sendable (DocumentResponse) -> Void
    ) {
        Task { completion(await perform(request, in: context)) }
    }

    package func perform(_ request: DocumentRequest, in context: OperationContext) async -> DocumentResponse {
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
        for remote in transactions.withLock({ $0.release(owner: owner) }) {
            releases.withLock { releases in
                releases.count += 1
                let number = releases.count
                releases.tasks[number] = Task {
                    await self.abandon(remote)
                    self.releases.withLock { $0.tasks[number] = nil }
                }
            }
        }
    }

    /// Waits until what was released is rolled back: the service would hold its locks for a minute.
    package func shutdown() async {
        while let task = releases.withLock({ $0.tasks.values.first }) { await task.value }
    }
}
