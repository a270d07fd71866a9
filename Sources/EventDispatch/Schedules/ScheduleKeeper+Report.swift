import CommitPipeline
import ControlProtocol
import DocumentModel
import DocumentStore
import EventDelivery
import FunctionManifest

extension ScheduleKeeper {
    /// A report on each job, by name.
    ///
    /// - Parameter count: the number of next runs to list.
    func listing(at now: Timestamp, count: Int) async throws(DocumentError) -> ScheduleListing {
        let pauses = try await EventRecords.pauses(store)
        var reports: [ScheduleReport] = []
        for (name, state) in known(at: now).sorted(by: { $0.key < $1.key }) {
            let open: Result<Delivery?, DocumentError>
            do throws(DocumentError) { open = .success(try await openRun(of: name).run) } catch {
                guard error.code == .dataLoss else { throw error }
                open = .failure(error)
            }
            reports.append(
                state.report(open: open, isPaused: EventRecords.isPaused(name, pauses), at: now, count: count))
        }
        return ScheduleListing(schedules: reports)
    }
}

extension JobState {
    /// - Parameter open: the run in progress; an error if it can't be read.
    fileprivate func report(
        open: Result<Delivery?, DocumentError>, isPaused: Bool, at now: Timestamp, count: Int
    ) -> ScheduleReport {
        let clock = job.clock
        let lastRun = record.lastRun.map { run in
            ScheduleReport.Run(
                due: clock.rfc3339(run.due), made: clock.rfc3339(run.made), isManual: run.isManual,
                outcome: run.end?.outcome.name, ended: (run.end?.time).map(clock.rfc3339))
        }
        let openRun = (try? open.get()).map { delivery in
            ScheduleReport.OpenRun(
                id: delivery.id.event.description, made: clock.rfc3339(delivery.created),
                tries: delivery.failedAttempts,
                due: delivery.due.map(clock.rfc3339), lastError: delivery.lastError)
        }
        var problem: String?
        if case .failure(let error) = open { problem = error.message }
        return ScheduleReport(
            name: job.name, schedule: job.text, timeZone: job.zone,
            next: nextRuns(count, after: now).map(clock.rfc3339),
            heldSince: isDue(at: now) ? record.next.map(clock.rfc3339) : nil, lastRun: lastRun, openRun: openRun,
            isPaused: isPaused, missedRuns: job.missedRuns.text, overlaps: job.overlaps, problem: problem)
    }

    private func nextRuns(_ count: Int, after now: Timestamp) -> [Timestamp] {
        guard let next = record.next else { return [] }
        var runs = next > now ? [next] : []
        if job.countsFromEnd { return runs }
        while runs.count < count, let next = job.schedule.next(after: runs.last ?? now, on: job.clock) {
            runs.append(next)
        }
        return Array(runs.prefix(count))
    }
}

extension ScheduleRecord.Outcome {
    var name: String {
        switch self {
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .dead: "dead"
        }
    }
}

extension MissedRunsManifest {
    fileprivate var text: String {
        switch self {
        case .once: "once"
        case .skip: "skip"
        case .all(let max): "all:\(max)"
        }
    }
}
