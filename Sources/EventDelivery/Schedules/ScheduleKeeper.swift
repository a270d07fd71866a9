package import CommitPipeline
package import DocumentModel
package import DocumentStore
package import Logging

/// The scheduled jobs of the store: creates their runs when they are due. Used by one task at a time.
package struct ScheduleKeeper: Sendable {
    /// The maximum interval between two readings of the wall clock: a machine may have slept, or its clock been
    /// corrected.
    package static let longestWait: Int64 = 60
    /// The delay before an operation that the store refused is retried.
    private static let patience: Int64 = 5
    /// How long after its next run the record of an unserved job is kept. A later release that serves the job again
    /// continues from the record.
    private static let keptRecords: Int64 = 30 * 24 * 3600

    package let store: DocumentStore
    private let logger: Logger
    private var jobs: [ScheduledJob]
    package private(set) var states: [String: JobState] = [:]
    /// Jobs whose deliveries can't be read. They are looked at again with each reading of the clock.
    private var unreadable: Set<String> = []
    /// Those of them that aren't loaded, with their records.
    private var unloaded: [String: (job: ScheduledJob, record: ScheduleRecord?)] = [:]
    private var isLoaded = false
    /// Damaged runs that the log has named.
    private var reported: Set<DeliveryID> = []

    package init(_ jobs: [ScheduledJob], store: DocumentStore, logger: Logger) {
        self.jobs = jobs
        self.store = store
        self.logger = logger
    }

    /// Creates the runs of these jobs from the next step on, and of no others.
    ///
    /// Jobs that were served before go on from their state in memory and not from the store: it may have removed a run
    /// whose end wasn't passed to ``ended(_:at:)`` yet, which the next run counts from.
    package mutating func serve(_ jobs: [ScheduledJob], at now: Timestamp) {
        self.jobs = jobs
        let before = states
        (states, unloaded, unreadable, isLoaded) = ([:], [:], [], false)
        for job in jobs { states[job.name] = before[job.name]?.served(as: job, at: now) }
    }

    /// The earliest known time for which a run must be created.
    package var nextRun: Timestamp? {
        states.filter { !unreadable.contains($0.key) }.values.compactMap(\.wake).min()
    }

    // MARK: Runs

    /// Creates the runs that are due.
    ///
    /// - Returns: The latest time of the next step.
    @discardableResult
    package mutating func step(at now: Timestamp) async -> Timestamp {
        do {
            if !isLoaded { try await load(at: now) } else { try await loadJobs(at: now) }
            try await giveUpDamagedRuns(at: now)
            try await makeRuns(at: now)
        } catch {
            logger.error("scheduled runs can't be created, will retry", metadata: ["error": "\(error)"])
            return now.adding(Self.patience)
        }
        let latest = now.adding(Self.longestWait)
        return nextRun.map { min($0, latest) } ?? latest
    }

    /// Records the ends of runs, and creates the runs that waited for them.
    @discardableResult
    package mutating func ended(_ ends: [DeliveryEnd], at now: Timestamp) async -> Timestamp {
        for end in ends { states[end.id.function]?.ended(end) }
        return await step(at: now)
    }

    /// Records the ends of runs while the host stops: the runs that waited for them are created by its next start.
    package mutating func record(_ ends: [DeliveryEnd]) async {
        for end in ends { states[end.id.function]?.ended(end) }
        let changed = states.filter { $0.value.isUnsaved }.sorted { $0.key < $1.key }
        do {
            try await store.outbox.keep(changed.map { (ScheduleRecord.name($0.key), $0.value.record.encoded) })
        } catch {
            logger.error("the ends of scheduled runs can't be recorded", metadata: ["error": "\(error)"])
        }
    }

    /// Runs a job manually.
    ///
    /// - Throws: If there is no such job, the job is paused, or a run is in progress that may not be overlapped.
    package mutating func run(_ name: String, at now: Timestamp) async throws(DocumentError) -> EventID {
        if !isLoaded { try await load(at: now) }
        guard let state = states[name] else {
            if unloaded[name] != nil { throw DocumentError(.dataLoss, "the deliveries of \(name) can't be read") }
            throw unknown(name)
        }
        if EventRecords.isPaused(name, try await EventRecords.pauses(store)) {
            throw DocumentError(.failedPrecondition, "\(name) is paused; resume it first")
        }
        if !state.job.overlaps, let open = try await openRun(of: name).run {
            throw DocumentError(
                .failedPrecondition,
                "the run of \(name) created at \(open.created.rfc3339) is in progress, and its runs may not overlap; wait "
                    + "until it ends, or drop it with \"deliveries drop\"")
        }
        let record = state.manualRun(at: now)
        let events = try await store.outbox.keep(
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
                do throws(DocumentError) {
                    if !isBlocked, !state.job.overlaps {
                        let open = try await openRun(of: name)
                        for id in open.damaged { report(id) }
                        isBlocked = open.run != nil
                    }
                } catch {
                    try note(error, of: name)
                    continue
                }
                unreadable.remove(name)
            }
            let step = state.step(at: now, isBlocked: isBlocked)
            states[name] = state
            guard case .make(let times, let record) = step else { continue }
            if before.record.asOf.seconds - record.asOf.seconds > JobState.mostPutBack {
                logger.warning(
                    "the clock was set back; the schedule starts from now",
                    metadata: ["function": "\(name)", "before": "\(before.record.asOf)", "now": "\(now)"])
            }
            if let first = before.record.next, record.next != first, now.seconds - first.seconds > JobState.grace {
                logger.info(
                    "scheduled runs were missed",
                    metadata: ["function": "\(name)", "since": "\(first)", "made": "\(times.count)"])
            }
            made.append((name, record, runs.count..<runs.count + times.count))
            records.append((ScheduleRecord.name(name), record.encoded))
            runs += times.map { ScheduledRun(function: name, due: $0) }
        }
        guard !records.isEmpty else { return }
        let events = try await store.outbox.keep(records, runs: runs)
        for entry in made { states[entry.name]?.stored(entry.record, events: Array(events[entry.runs])) }
    }

    /// A damaged run never ends. A job whose next run depends on that end goes on as if it had ended unnoticed.
    private mutating func giveUpDamagedRuns(at now: Timestamp) async throws(DocumentError) {
        for (name, state) in states {
            guard let event = state.overdueRun(at: now) else { continue }
            let id = DeliveryID(event: event, function: name)
            guard try await isDamaged(id) else { continue }
            report(id)
            states[name]?.resume(nil)
        }
    }

    private mutating func report(_ damaged: DeliveryID) {
        guard reported.insert(damaged).inserted else { return }
        logger.error(
            "a damaged run of a scheduled job is skipped; \"functions-host data check --repair\" restores it",
            metadata: ["function": "\(damaged.function)", "event.id": "\(damaged.event)"])
    }

    /// The rows of one job must not stop the others.
    ///
    /// - Throws: what concerns all of them.
    private mutating func note(_ error: DocumentError, of name: String) throws(DocumentError) {
        guard error.code == .dataLoss else { throw error }
        guard unreadable.insert(name).inserted else { return }
        logger.error(
            "the deliveries of a scheduled job can't be read; no run is created: see \"functions-host data check\"",
            metadata: ["function": "\(name)", "error": "\(error)"])
    }

    // MARK: Loading

    private mutating func load(at now: Timestamp) async throws(DocumentError) {
        var stored: [String: ScheduleRecord] = [:]
        for (name, value) in try await store.outbox.records(startingWith: ScheduleRecord.prefix) {
            let function = String(name.dropFirst(ScheduleRecord.prefix.count))
            do {
                stored[function] = try ScheduleRecord(value)
            } catch {
                logger.error(
                    "a schedule's record can't be decoded; it starts from now",
                    metadata: ["function": "\(function)", "error": "\(error)"])
            }
        }
        for job in jobs {
            let record = stored.removeValue(forKey: job.name)
            if states[job.name] == nil { unloaded[job.name] = (job, record) }
        }
        try await loadJobs(at: now)
        let oldest = now.adding(-Self.keptRecords)
        let removed = stored.filter { _, record in max(record.next ?? record.asOf, record.asOf) < oldest }
        if !removed.isEmpty {
            try await store.outbox.keep(removed.keys.sorted().map { (ScheduleRecord.name($0), nil) })
        }
        isLoaded = true
    }

    private mutating func loadJobs(at now: Timestamp) async throws(DocumentError) {
        for (name, entry) in unloaded {
            var state = JobState(entry.job, stored: entry.record, at: now)
            do throws(DocumentError) {
                state.resume(try await event(ofLast: state.record.lastRun, of: name))
            } catch {
                try note(error, of: name)
                continue
            }
            states[name] = state
            unloaded[name] = nil
            unreadable.remove(name)
        }
    }

    /// The delivery of the last run, if it hasn't ended.
    private func event(
        ofLast run: ScheduleRecord.Run?, of function: String
    ) async throws(DocumentError) -> EventID? {
        guard let run, run.end == nil else { return nil }
        var last: DeliveryID?
        while true {
            let page = try await store.outbox.deliveries(areDead: false, function: function, after: last, limit: 100)
            guard let end = page.last else { break }
            last = end.id
        }
        // An older delivery belongs to another run, which was retried manually.
        guard let last, last.event.version >= run.made.microseconds else { return nil }
        return last.event
    }

    /// All jobs, also those whose deliveries can't be read.
    package func known(at now: Timestamp) -> [String: JobState] {
        states.merging(unloaded.mapValues { JobState($0.job, stored: $0.record, at: now) }) { loaded, _ in loaded }
    }

    // MARK: The outbox

    /// The first delivery of the job that hasn't ended, and the damaged ones before it.
    package func openRun(of function: String) async throws(DocumentError) -> (run: Delivery?, damaged: [DeliveryID]) {
        var damaged: [DeliveryID] = []
        while let delivery = try await store.outbox.deliveries(
            areDead: false, function: function, after: damaged.last, limit: 1
        ).first {
            guard try await isDamaged(delivery.id) else { return (delivery, damaged) }
            damaged.append(delivery.id)
        }
        return (nil, damaged)
    }

    /// Whether a delivery is never attempted again because it, or its event, can't be read. A handler that has begun
    /// may still run.
    private func isDamaged(_ id: DeliveryID) async throws(DocumentError) -> Bool {
        do throws(DocumentError) {
            _ = try await store.outbox.delivery(id)
            return false
        } catch {
            guard error.code == .dataLoss else { throw error }
            return !store.outbox.isLeased(id)
        }
    }

    func unknown(_ name: String) -> DocumentError {
        let known = (Array(states.keys) + unloaded.keys).sorted().joined(separator: ", ")
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
