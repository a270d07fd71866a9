package import StorageEngine
package import DocumentModel
import Foundation
import Synchronization

/// Documents with transactions, queries and idempotency keys, on a storage engine.
///
/// Reads run on reader threads, many in one snapshot. All commits run on one writer thread, many in one durable batch:
/// one sync carries them all, and none is answered before it.
package final class DocumentStore: DocumentRequestBackend {
    let engine: any StorageEngine
    let now: @Sendable () -> Timestamp
    let elapsed: @Sendable () -> Duration
    let configuration: StoreConfiguration
    let transactions: Mutex<TransactionTable>
    let reads = JobQueue<ReadJob>()
    let writes = JobQueue<WriteJob>()
    let listeners: ListenerHub
    let signal: CommitSignal
    let costlyQueries = CostlyQueryLog()
    let outbox = Outbox()
    private let threads = Mutex(StoreThreads())

    /// - Parameters:
    ///   - now: the wall clock, which commit times and expiries are taken from.
    ///   - elapsed: a clock that never goes back, for the bounds of transactions and turns.
    /// - Throws: `StorageError`.
    package init(
        engine: any StorageEngine, now: @escaping @Sendable () -> Timestamp,
        elapsed: (@Sendable () -> Duration)? = nil, configuration: StoreConfiguration = StoreConfiguration()
    ) throws {
        self.engine = engine
        self.now = now
        let start = ContinuousClock.now
        self.elapsed = elapsed ?? { start.duration(to: .now) }
        self.configuration = configuration
        let version = try engine.write { storage in
            try IndexMaintenance.prepare(storage)
            var (version, generation) = try StoreVersion.readBoth(storage)
            let isRestored = try storage.get(.meta, RestoredMark.key) != nil
            if version == 0 || isRestored {
                // After a restore, positions of the state that was discarded must not fit this one.
                version = max(version, now().microseconds)
                try StoreVersion.write(version, generation: generation ?? 0, to: storage)
            }
            if try isRestored || HistoryBounds.read(storage) == nil {
                try HistoryBounds(floor: version, bytes: 0).write(to: storage)
                try storage.delete(.meta, RestoredMark.key)
            }
            return version
        }
        transactions = Mutex(TransactionTable(version: version, configuration: configuration))
        listeners = ListenerHub(configuration: configuration)
        signal = CommitSignal(version: version)
    }

    /// Starts the threads. What was asked for before waits for this.
    ///
    /// - Throws: `StorageError` where a reader can't be opened.
    package func start() throws {
        let readers = try (0..<max(configuration.readerThreads, 1)).map { _ in
            StoreReader(store: self, session: StoreSession(try engine.makeReadSession()))
        }
        let writer = try engine.write { storage in
            let version = try StoreVersion.read(storage)
            return StoreWriter(
                store: self, version: version,
                history: try HistoryBounds.read(storage) ?? HistoryBounds(floor: version, bytes: 0),
                indexes: try IndexMaintenance(storage, onEvent: configuration.onIndexEvent))
        }
        let listeners = ListenerThread(store: self, session: StoreSession(try engine.makeReadSession()))
        threads.withLock { threads in
            threads.start("documents.listeners") { listeners.run() }
            for reader in readers { threads.start("documents.reader") { reader.run() } }
            threads.start("documents.writer") { writer.run() }
        }
    }

    /// Finishes what was asked for, refuses what comes now, and ends the threads. The engine stays open.
    package func shutdown() async {
        // Readers may hand work to the writer, so they end first.
        reads.close()
        await threads.withLock { $0.ends("documents.reader") }.wait()
        writes.close()
        await threads.withLock { $0.ends("documents.writer") }.wait()
        signal.close()
        listeners.close(Self.shutDown)
        await threads.withLock { $0.ends("documents.listeners") }.wait()
    }

    /// Does an operation, without ever blocking the caller.
    ///
    /// - Parameter completion: called once, on a thread of the store, and must not block there; on the caller's where
    ///   nothing has to be waited for.
    package func perform(
        _ request: DocumentRequest, in context: OperationContext = OperationContext(),
        completion: @escaping @Sendable (DocumentResponse) -> Void
    ) {
        if case .begin(let mode) = request, mode.retried == nil, mode.readTime == nil, context.completion == nil {
            return completion(begin(mode, in: context))
        }
        let operation = StoreOperation(request: request, context: context, completion: completion)
        let taken =
            switch request {
            case .get, .query, .aggregate, .explain, .partition, .begin(.readOnly), .begin(.readWrite(nil)):
                reads.put(.operation(operation), limit: configuration.maxWaiting)
            case .begin(.readWrite), .commit, .batchWrite, .rollback:
                writes.put(.operation(operation), limit: configuration.maxWaiting)
            }
        if !taken { completion(.failed(Self.notTaken)) }
    }

    /// Begins a transaction that waits for nobody and looks nothing up: it touches memory only, so no thread is woken.
    private func begin(_ mode: TransactionMode, in context: OperationContext) -> DocumentResponse {
        let time = elapsed()
        do {
            let id = try transactions.withLock { table throws(DocumentError) in
                try table.begin(isReadOnly: mode.isReadOnly, context: context, at: time)
            }
            return .began(id, prefetched: [])
        } catch {
            return .failed(error)
        }
    }

    /// Does an operation.
    package func perform(
        _ request: DocumentRequest, in context: OperationContext = OperationContext()
    ) async -> DocumentResponse {
        await withCheckedContinuation { continuation in
            perform(request, in: context) { continuation.resume(returning: $0) }
        }
    }

    /// Rolls back all transactions that were begun under an owner, and ends its listeners: its client is gone.
    package func release(owner: UInt64) {
        listeners.release(owner: owner)
        let ended = transactions.withLock { $0.release(owner: owner) }
        // Where the queue is closed there are no turns any more.
        _ = writes.put(.release(owner: owner, ended))
    }

    static let notTaken = DocumentError(
        .unavailable, "the document store is shutting down, or has too much to do; try again later")

    static let shutDown = DocumentError(.unavailable, "the document store is shutting down")
}

extension TransactionMode {
    /// The transaction that is tried again.
    var retried: TransactionID? {
        if case .readWrite(let retrying) = self { retrying } else { nil }
    }

    /// The time in the past that is to be seen.
    var readTime: Timestamp? {
        if case .readOnly(let time) = self { time } else { nil }
    }

    var isReadOnly: Bool {
        if case .readOnly = self { true } else { false }
    }
}
