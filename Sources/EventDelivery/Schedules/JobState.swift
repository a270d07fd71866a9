package import CommitPipeline
package import DocumentModel
import DocumentStore
import FunctionManifest

/// A job's runs: which ones to create, and when to check the job again. A pure state machine without clock and storage.
///
///        begins ──▶ waits for a time ──────── due ───────▶ makes a run, and its next time in the same commit
///                        ▲    ▲                 │                            │
///                        │    │   the run before goes on, or it is paused    │
///                        │    │                 ▼                            │
///                        │    └── skips ──── held ── it ends, it is resumed ─┤
///                        └────────────── the next time is known ◀────────────┘
package struct JobState: Sendable {
    /// What to do about a job at a time.
    enum Step: Hashable, Sendable {
        case wait
        /// A run is due but may not start yet.
        case hold
        /// Store the record and create the runs, in one commit. There are no runs if they were skipped.
        case make([Timestamp], ScheduleRecord)
    }

    /// A run that would start later than this is missed.
    static let grace: Int64 = 60
    /// If the clock is set back further than this, its earlier time was wrong, and what was computed from it is void.
    static let mostPutBack: Int64 = 24 * 3600

    package let job: ScheduledJob
    package private(set) var record: ScheduleRecord
    /// Whether the stored record is older than this one.
    private(set) var isUnsaved: Bool
    private(set) var isHeld = false
    /// The event of the last run, if it is known.
    private(set) var lastEvent: EventID?

    /// - Parameter stored: Nil for a new job. A job whose schedule has changed starts from now, like a new one.
    init(_ job: ScheduledJob, stored: ScheduleRecord?, at now: Timestamp) {
        self.job = job
        if let stored, stored.schedule == job.text, stored.zone == job.zone {
            record = stored
            isUnsaved = false
        } else {
            record = ScheduleRecord(
                schedule: job.text, zone: job.zone, next: job.schedule.next(after: now, on: job.clock), asOf: now,
                lastRun: stored?.lastRun)
            isUnsaved = true
        }
    }

    /// The job as another release serves it. The end of the last run may still be to come.
    func served(as job: ScheduledJob, at now: Timestamp) -> JobState {
        var state = JobState(job, stored: record, at: now)
        state.isUnsaved = state.isUnsaved || isUnsaved
        state.resume(lastEvent)
        return state
    }

    /// When the job must be checked again if nothing else happens; nil for never.
    package var wake: Timestamp? { isHeld ? nil : record.next }

    /// Whether a run is due, in which case a step needs to know whether the job is blocked.
    package func isDue(at now: Timestamp) -> Bool { record.next.map { $0 <= now } ?? false }

    /// The run whose end decides when the next one is due, if it was created an interval ago or earlier.
    func overdueRun(at now: Timestamp) -> EventID? {
        guard job.countsFromEnd, record.next == nil, let pause = job.schedule.pause, let run = record.lastRun,
            now.seconds - run.made.seconds >= pause
        else { return nil }
        return lastEvent
    }

    /// - Parameter isBlocked: Whether the job is paused, or a run is in progress that may not be overlapped.
    mutating func step(at now: Timestamp, isBlocked: Bool) -> Step {
        if isClockSetBack(at: now) {
            return .make([], makeRecord(from: now, next: job.schedule.next(after: now, on: job.clock)))
        }
        guard let next = record.next, next <= now else { return isUnsaved ? .make([], record) : .wait }
        guard !isBlocked else {
            isHeld = true
            return isUnsaved ? .make([], record) : .hold
        }
        let due = dueRuns(from: next, at: now)
        var changed = makeRecord(from: now, next: due.next)
        if let last = due.made.last {
            changed.lastRun = ScheduleRecord.Run(due: last, made: now, isManual: false)
            if job.countsFromEnd { changed.next = nil }
        }
        return .make(due.made, changed)
    }

    /// A manual run, now.
    func manualRun(at now: Timestamp) -> ScheduleRecord {
        var changed = record
        changed.lastRun = ScheduleRecord.Run(due: now, made: now, isManual: true)
        return changed
    }

    /// Called when the record is durable, and the runs with these events too.
    mutating func stored(_ record: ScheduleRecord, events: [EventID]) {
        if record.next != self.record.next { isHeld = false }
        self.record = record
        isUnsaved = false
        if let last = events.last { lastEvent = last }
    }

    /// Takes up the last run's delivery, or gives it up.
    ///
    /// - Parameter event: The delivery that is still pending; nil if there is none that can be delivered.
    mutating func resume(_ event: EventID?) {
        lastEvent = event
        guard record.next == nil, job.schedule.pause != nil, event == nil || job.overlaps else { return }
        // It ended at an unknown time, but not before it was created.
        let end = record.lastRun.map { $0.end?.time ?? $0.made } ?? record.asOf
        record.next = job.schedule.next(after: end, on: job.clock)
        isUnsaved = true
    }

    /// Called when a delivery to the job has ended.
    mutating func ended(_ end: DeliveryEnd) {
        if end.id.event == lastEvent, record.lastRun != nil {
            record.lastRun?.end = ScheduleRecord.End(time: end.time, outcome: .init(end.outcome))
            isUnsaved = true
        }
        if job.countsFromEnd {
            record.next = job.schedule.next(after: end.time, on: job.clock)
            record.asOf = end.time
            // The held run had another due time.
            isHeld = false
            isUnsaved = true
        }
    }

    /// Whether the clock was set back so far that the next time is void.
    private func isClockSetBack(at now: Timestamp) -> Bool {
        if now.seconds < record.asOf.seconds - Self.mostPutBack { return true }
        // An interval has its length regardless of the wall clock.
        guard let pause = job.schedule.pause, let next = record.next else { return false }
        return next.seconds > now.seconds + pause
    }

    private func makeRecord(from now: Timestamp, next: Timestamp?) -> ScheduleRecord {
        var changed = record
        changed.next = next
        changed.asOf = now
        return changed
    }

    /// The due runs to create, and the time of the next one.
    private func dueRuns(from next: Timestamp, at now: Timestamp) -> (made: [Timestamp], next: Timestamp?) {
        // For an interval that counts from the end of the previous run, at most one run is due.
        let missedRuns =
            if job.countsFromEnd, case .all = job.missedRuns { MissedRunsManifest.once } else { job.missedRuns }
        let limit = if case .all(let max) = missedRuns { max } else { 1 }
        var runs = job.schedule.runs(from: next, through: now, latest: limit, on: job.clock)
        // An overlapping interval keeps its phase.
        let last = job.schedule.pause == nil ? now : runs.last ?? now
        let following = job.schedule.next(after: last, on: job.clock)
        switch missedRuns {
        case .once: break
        // A held run was missed, however short the delay.
        case .skip: runs.removeAll { isHeld || now.seconds - $0.seconds > Self.grace }
        case .all:
            // One after the other, each when the previous one has ended.
            if !job.overlaps, runs.count > 1 { return ([runs[0]], runs[1]) }
        }
        return (runs, following)
    }
}

extension ScheduleRecord.Outcome {
    package init(_ outcome: DeliveryEnd.Outcome) {
        self =
            switch outcome {
            case .succeeded: .succeeded
            case .dropped: .failed
            case .dead: .dead
            }
    }
}
