package import DocumentModel
package import DocumentStore
import FunctionManifest

/// One job's runs: which are to be made, and when it is to be looked at again. It knows no clock and stores nothing.
///
///        begins ──▶ waits for a time ──────── due ───────▶ makes a run, and its next time in the same commit
///                        ▲    ▲                 │                            │
///                        │    │   the run before goes on, or it is paused    │
///                        │    │                 ▼                            │
///                        │    └── skips ──── held ── it ends, it is resumed ─┤
///                        └────────────── the next time is known ◀────────────┘
package struct JobState: Sendable {
    /// What is to be done about a job at a time.
    enum Step: Hashable, Sendable {
        case wait
        /// Something is due and may not begin yet.
        case hold
        /// To store the record and to make the runs, in one commit. There may be none, where they were skipped.
        case make([Timestamp], ScheduleRecord)
    }

    /// A run that begins later than this was missed.
    static let grace: Int64 = 60
    /// A clock that is put back further than this showed a wrong time before: what was worked out from that is void.
    static let mostPutBack: Int64 = 24 * 3600

    package let job: ScheduledJob
    package private(set) var record: ScheduleRecord
    /// Whether what is stored is older than the record.
    private(set) var isUnsaved: Bool
    private(set) var isHeld = false
    /// The event of the last run, where it is known.
    private(set) var lastEvent: EventID?

    /// - Parameter stored: nil for a new job. One whose schedule has changed begins from now, as a new one does.
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

    /// When the job is to be looked at again without anything else happening; nil for never.
    package var wake: Timestamp? { isHeld ? nil : record.next }

    /// Whether a run is due, so that a step needs to know if the job is blocked.
    package func isDue(at now: Timestamp) -> Bool { record.next.map { $0 <= now } ?? false }

    /// - Parameter isBlocked: whether a run of the job goes on that the next one may not overlap, or it is paused.
    mutating func step(at now: Timestamp, isBlocked: Bool) -> Step {
        if isUntimely(at: now) {
            return .make([], worked(from: now, next: job.schedule.next(after: now, on: job.clock)))
        }
        guard let next = record.next, next <= now else { return isUnsaved ? .make([], record) : .wait }
        guard !isBlocked else {
            isHeld = true
            return isUnsaved ? .make([], record) : .hold
        }
        let due = dueRuns(from: next, at: now)
        var changed = worked(from: now, next: due.next)
        if let last = due.made.last {
            changed.lastRun = ScheduleRecord.Run(due: last, made: now, isManual: false)
            if job.countsFromEnd { changed.next = nil }
        }
        return .make(due.made, changed)
    }

    /// A run by hand, now.
    func manualRun(at now: Timestamp) -> ScheduleRecord {
        var changed = record
        changed.lastRun = ScheduleRecord.Run(due: now, made: now, isManual: true)
        return changed
    }

    /// The record is durable, and so are the runs with these events.
    mutating func stored(_ record: ScheduleRecord, events: [EventID]) {
        if record.next != self.record.next { isHeld = false }
        self.record = record
        isUnsaved = false
        if let last = events.last { lastEvent = last }
    }

    /// What the outbox has of the last run after a start.
    ///
    /// - Parameter event: the delivery that is pending still; nil where there is none.
    mutating func resume(_ event: EventID?) {
        lastEvent = event
        guard record.next == nil, job.schedule.pause != nil, event == nil || job.overlaps else { return }
        // It has ended, and when couldn't be noted: not before it was made.
        let end = record.lastRun.map { $0.end?.time ?? $0.made } ?? record.asOf
        record.next = job.schedule.next(after: end, on: job.clock)
        isUnsaved = true
    }

    /// A delivery to the job is over.
    mutating func ended(_ end: DeliveryEnd) {
        if end.id.event == lastEvent, record.lastRun != nil {
            record.lastRun?.end = ScheduleRecord.End(time: end.time, outcome: .init(end.outcome))
            isUnsaved = true
        }
        if job.countsFromEnd {
            record.next = job.schedule.next(after: end.time, on: job.clock)
            record.asOf = end.time
            // Another time than the one that was held.
            isHeld = false
            isUnsaved = true
        }
    }

    /// Whether the clock was put back so far that the next time means nothing.
    private func isUntimely(at now: Timestamp) -> Bool {
        if now.seconds < record.asOf.seconds - Self.mostPutBack { return true }
        // An interval is as long as it is, whatever clocks show.
        guard let pause = job.schedule.pause, let next = record.next else { return false }
        return next.seconds > now.seconds + pause
    }

    private func worked(from now: Timestamp, next: Timestamp?) -> ScheduleRecord {
        var changed = record
        changed.next = next
        changed.asOf = now
        return changed
    }

    /// The runs to make of those that are due, and when the next one is.
    private func dueRuns(from next: Timestamp, at now: Timestamp) -> (made: [Timestamp], next: Timestamp?) {
        // Of what counts from the end of the run before one time at most is due, however long ago.
        let missedRuns =
            if job.countsFromEnd, case .all = job.missedRuns { MissedRunsManifest.once } else { job.missedRuns }
        let limit = if case .all(let max) = missedRuns { max } else { 1 }
        var runs = job.schedule.runs(from: next, through: now, latest: limit, on: job.clock)
        // An interval that overlaps goes on in its step.
        let last = job.schedule.pause == nil ? now : runs.last ?? now
        let following = job.schedule.next(after: last, on: job.clock)
        switch missedRuns {
        case .once: break
        // What was held was missed, however short a time ago.
        case .skip: runs.removeAll { isHeld || now.seconds - $0.seconds > Self.grace }
        case .all:
            // One after the other, each when the one before has ended.
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
