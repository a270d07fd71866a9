import DocumentModel
import Synchronization

/// The reads that wait for the pipeline's threads. No queue's reads wait for those of another.
final class ReadQueues: Sendable {
    let short: ShortReads
    /// Clients' queries.
    let queries: CallerReads
    /// The decisions on clients' large commits.
    let commits: CallerReads
    let maintenance: CallerReads
    private let isClosed = Atomic(false)

    init(_ configuration: CommitConfiguration) {
        let places = configuration.maxCallerReads
        short = ShortReads(places: places)
        queries = CallerReads(
            places: places, threads: configuration.callerReaderThreads,
            maxRunning: configuration.callerReaderThreads / 2)
        commits = CallerReads(
            places: places, threads: configuration.commitCheckThreads,
            maxRunning: configuration.commitCheckThreads / 2)
        maintenance = CallerReads(
            places: places, threads: configuration.maintenanceThreads, maxRunning: configuration.maintenanceThreads)
    }

    var byCaller: [CallerReads] { [queries, commits, maintenance] }

    /// Adds a read. If it isn't taken, it fails: the pipeline is shutting down, or too many reads are waiting.
    ///
    /// - Parameters:
    ///   - caller: whose turn the read waits for; nil for a short read of a function or the host.
    ///   - limit: refuses such a read if this many are already waiting.
    func put(_ job: any SnapshotJob, of caller: ReadCaller?, limit: Int = .max) {
        let isTaken =
            switch caller {
            case nil: short.put(job, of: nil, limit: limit)
            case .clientGet(let client)?: short.put(job, of: client, limit: limit)
            case .client(let client)?: queries.put(job, of: .client(client))
            case .clientCommit(let client)?: commits.put(job, of: .clientCommit(client))
            case .maintenance?: maintenance.put(job, of: .maintenance)
            }
        guard !isTaken else { return }
        job.fail(isClosed.load(ordering: .acquiring) ? CommitPipeline.shutDown : CommitPipeline.overloaded)
    }

    /// Refuses new reads; those in the queues are still taken.
    func close() {
        isClosed.store(true, ordering: .releasing)
        short.close()
        for queue in byCaller { queue.close() }
    }
}
