package import DocumentModel
package import DocumentStore
package import Logging

/// All jobs on the store: makes their runs when they are due. One task at a time works with it.
package struct ScheduleKeeper {
    /// The host looks at its wall clock at least so often: a machine may have slept, or its clock been put right.
    package static let longestWait: Int64 = 60
    /// After which time something is tried again that the store refused.
    private static let patience: Int64 = 5
    /// For how long after its next run the record of a job that isn't served any more is kept: it may come back with
    /// another release, and takes up where it was.
    private static let keptRecords: Int64 = 30 * 24 * 3600

    package let store: DocumentStore
    private let logger: Logger
    private let jobs: [ScheduledJob]
    package private(set) var states: [String: JobState] = [:]
    private var isLoaded = false

    package init(_ jobs: [ScheduledJob], store: DocumentStore, logger: Logger) {
        self.jobs = jobs
        self.store = store
        self.logger = logger
    }

    /// The next time for which a run is to be made, of those that are known.
    package var nextRun: Timestamp? { states.values.compactMap(\.wake).min() }

    // MARK: Runs

    /// Makes the runs that are due.
    ///
    /// - Returns: when to look again at the latest.
    @discardableResult
    package mutating func step(at now: Timestamp) async -> Timestamp {
        do {
            if !isLoaded { try await load(at: now) }
            try await makeRuns(at: now)
        } catch {
            logger.error("runs of schedules can't be made, and are tried again", metadata: ["error": "\(error)"])
            return now.adding(Self.patience)
        }
        let latest = now.adding(Self.longestWait)
        return nextRun.map { min($0, latest) } ?? latest
    }

    /// Notes what is over, and makes the runs that waited for it.
    @discardableResult
    package mutating func ended(_ ends: [DeliveryEnd], at now: Timestamp) async -> Timestamp {
        for end in ends { states[end.id.function]?.ended(end) }
        return await step(at: now)
    }

    /// Makes a run by hand.
    ///
    /// - Throws: where there is no such job, it is paused, or its run before goes on and may not be overlapped.
    package mutating func run(_ name: String, at now: Timestamp) async throws(DocumentError) -> EventID {
        if !isLoaded { try await load(at: now) }
        guard let state = states[name] else { throw unknown(name) }
        if EventRecords.isPaused(name, try await EventRecords.pauses(store)) {
            throw DocumentError(.failedPrecondition, "\(name) is paused; resume it first")
        }
        if !state.job.overlaps, let open = try await openRun(of: name) {
            throw DocumentError(
                .failedPrecondition,
                "the run of \(name) that was made at \(open.created.rfc3339) goes on, and its runs may not overlap; wait "
                    + "for its end, or drop it with \"deliveries drop\"")
        }
        let record = state.manualRun(at: now)
        let events = try await store.keep(
            [(ScheduleRecord.name(name), record.encoded)],
            runs: [ScheduledRun(function: name, due: now, isManual: true)])
        states[name]?.stored(record, events: events)
        guard let event = events.first else { throw DocumentError(.internal, "the run has no event") }
        return event
    }

    private mutating func makeRuns(at now: Timestamp) async throws(DocumentError) {
        let isAnyDue = states.values.contains { $0.isDue(at: now) }
        let pauses = isAnyDue ? try await EventRecords.pauses(store) : [:]
        var records: [(name: String, value: [UInt8]?)] = []
        var runs: [ScheduledRun] = []
        var made: [(name: String, record: ScheduleRecord, runs: Range<Int>)] = []
        for (name, before) in states {
            var state = before
            var isBlocked = false
            if state.isDue(at: now) {
                isBlocked = EventRecords.isPaused(name, pauses)
                if !isBlocked, !state.job.overlaps { isBlocked = try await openRun(of: name) != nil }
            }
            let step = state.step(at: now, isBlocked: isBlocked)
            states[name] = state
            guard case .make(let times, let record) = step else { continue }
            if before.record.asOf.seconds - record.asOf.seconds > JobState.mostPutBack {
                logger.warning(
                    "the clock was put back; the schedule begins from now",
                    metadata: ["function": "\(name)", "before": "\(before.record.asOf)", "now": "\(now)"])
            }
            if let first = before.record.next, record.next != first, now.seconds - first.seconds > JobState.grace {
                logger.info(
                    "runs were missed",
                    metadata: ["function": "\(name)", "since": "\(first)", "made": "\(times.count)"])
            }
            made.append((name, record, runs.count..<runs.count + times.count))
            records.append((ScheduleRecord.name(name), record.encoded))
            runs += times.map { ScheduledRun(function: name, due: $0) }
        }
        guard !records.isEmpty else { return }
        let events = try await store.keep(records, runs: runs)
        for entry in made { states[entry.name]?.stored(entry.record, events: Array(events[entry.runs])) }
    }

    // MARK: After a start

    private mutating func load(at now: Timestamp) async throws(DocumentError) {
        var stored: [String: ScheduleRecord] = [:]
        for (name, value) in try await store.records(startingWith: ScheduleRecord.prefix) {
            let function = String(name.dropFirst(ScheduleRecord.prefix.count))
            do {
                stored[function] = try ScheduleRecord(value)
            } catch {
                logger.error(
                    "the record of a schedule can't be read; it begins from now",
                    metadata: ["function": "\(function)", "error": "\(error)"])
            }
        }
        for job in jobs {
            var state = JobState(job, stored: stored[job.name], at: now)
            state.resume(try await event(ofLast: state.record.lastRun, of: job.name))
            states[job.name] = state
        }
        let oldest = now.adding(-Self.keptRecords)
        let removed = stored.filter { name, record in
            states[name] == nil && max(record.next ?? record.asOf, record.asOf) < oldest
        }
        if !removed.isEmpty {
            try await store.keep(removed.keys.sorted().map { (ScheduleRecord.name($0), nil) })
        }
        isLoaded = true
    }

    /// The delivery of a run that hasn't ended.
    private func event(
        ofLast run: ScheduleRecord.Run?, of function: String
    ) async throws(DocumentError) -> EventID? {
        guard let run, run.end == nil else { return nil }
        var last: DeliveryID?
        while true {
            let page = try await store.deliveries(areDead: false, function: function, after: last, limit: 100)
            guard let end = page.last else { break }
            last = end.id
        }
        // One of before is of another run, which somebody brought back.
        guard let last, last.event.version >= run.made.microseconds else { return nil }
        return last.event
    }

    // MARK: The outbox

    /// The first delivery of a job that is not over.
    package func openRun(of function: String) async throws(DocumentError) -> Delivery? {
        try await store.deliveries(areDead: false, function: function, limit: 1).first
    }

    func unknown(_ name: String) -> DocumentError {
        let known = states.keys.sorted().joined(separator: ", ")
        return DocumentError(
            .notFound,
            "no function \(name) has a schedule; " + (known.isEmpty ? "none has one" : "there are \(known)"))
    }
}

extension Timestamp {
    func adding(_ seconds: Int64) -> Timestamp {
        Timestamp(seconds: self.seconds + seconds, nanoseconds: nanoseconds)
    }
}
