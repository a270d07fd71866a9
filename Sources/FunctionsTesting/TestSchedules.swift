import DocumentModel
import DocumentStore
import EventDelivery
import Logging
import Synchronization
import FunctionManifest

/// The bundle's schedules by the test's clock: their runs are made as a host makes them, in the store's outbox.
actor TestSchedules {
    private var keeper: ScheduleKeeper
    /// What is over and isn't noted yet.
    private let ends = Ends()

    private final class Ends: Sendable {
        let list = Mutex<[DeliveryEnd]>([])
    }

    /// - Throws: what is wrong with a schedule.
    init(_ functions: [FunctionManifest], store: DocumentStore) throws(ScheduleError) {
        var jobs: [ScheduledJob] = []
        for function in functions { if let job = try ScheduledJob(function) { jobs.append(job) } }
        keeper = ScheduleKeeper(jobs, store: store, logger: Logger(label: "schedules"))
        let names = Set(jobs.map(\.name))
        guard !names.isEmpty else { return }
        store.onDeliveryEnds { [ends] news in
            let ofJobs = news.filter { names.contains($0.id.function) }
            ends.list.withLock { $0 += ofJobs }
        }
    }

    /// Makes the runs that are due, those that waited for the end of the run before among them.
    ///
    /// - Returns: when the next ones are, as far as that is known.
    func makeRuns(at now: Timestamp) async -> Timestamp? {
        // A copy, since what an actor holds may not change while it waits. One task at a time delivers.
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
