import CommitPipeline
import DocumentModel
import DocumentStore
import EventDelivery
import Logging
import Synchronization
import FunctionManifest

/// Runs the bundle's schedules by the test's clock: creates their runs in the store's outbox as a host does.
actor TestSchedules {
    private var keeper: ScheduleKeeper
    /// The deliveries that have ended but aren't recorded yet.
    private let ends = Ends()

    private final class Ends: Sendable {
        let list = Mutex<[DeliveryEnd]>([])
    }

    /// - Throws: The error of an invalid schedule.
    init(_ functions: [FunctionManifest], store: DocumentStore) throws(ScheduleError) {
        var jobs: [ScheduledJob] = []
        for function in functions { if let job = try ScheduledJob(function) { jobs.append(job) } }
        keeper = ScheduleKeeper(jobs, store: store, logger: Logger(label: "schedules"))
        let names = Set(jobs.map(\.name))
        guard !names.isEmpty else { return }
        store.outbox.onEnds { [ends] news in
            let ofJobs = news.filter { names.contains($0.id.function) }
            ends.list.withLock { $0 += ofJobs }
        }
    }

    /// Creates the runs that are due, including those that waited for the previous run to end.
    ///
    /// - Returns: The time of the next runs, as far as it is known.
    func makeRuns(at now: Timestamp) async -> Timestamp? {
        // A copy, because an actor's state must not change while it suspends. Only one task at a time delivers.
        var keeper = keeper
        let over = ends.list.withLock { list in
            defer { list = [] }
            return list
        }
        await keeper.ended(over, at: now)
        self.keeper = keeper
        return keeper.nextRun
    }
}
