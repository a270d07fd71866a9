import CommitPipeline
import DocumentModel
import DocumentStore
import EventDelivery
import FunctionManifest
import Workers
import Logging
import Synchronization

/// Periodic work.
extension EventService {
    /// The interval, in seconds, of checks that no event causes: budgets, days, and deliveries that can't start.
    private static let careInterval = 5.0
    private static let sweepInterval = 60.0
    private static let reportInterval = 3600.0
    private static let page = 200

    func lookAfterItself() {
        Task {
            await self.care()
            guard !state.withLock({ $0.isStopped }) else { return }
            parts.timer.schedule(afterSeconds: Self.careInterval) { [weak self] in self?.lookAfterItself() }
        }
    }

    func care() async {
        for function in functions.values { function.gate.refresh() }
        await keepBudgets()
        let now = parts.now()
        let isDue = state.withLock { state in
            if let last = state.sweptAt, abs(now.seconds(since: last)) < Self.sweepInterval { return false }
            state.sweptAt = now
            return true
        }
        guard isDue else { return }
        await makeLateDeliveriesDue()
        await sweep()
    }

    // MARK: A clock that was set back

    /// Deliveries that were written while the clock was ahead would wait until it shows that time again. Those of each
    /// function are looked at once, and again after the clock was set back.
    private func makeLateDeliveriesDue() async {
        let now = parts.now()
        let queues = queues
        let unchecked = state.withLock { state in
            if let last = state.checkedAt, now < last { state.checked = [] }
            state.checkedAt = now
            state.checked.formIntersection(queues.keys)
            return queues.filter { !state.checked.contains($0.key) }
        }
        for (name, queue) in unchecked {
            do throws(DocumentError) {
                // Some may have been written under the longer pauses of an earlier release.
                let latest = now.after(seconds: max(queue.longestPause, 3600))
                let count = try await store.outbox.makeDue(name, notAfter: latest)
                _ = state.withLock { $0.checked.insert(name) }
                guard count > 0 else { continue }
                parts.logger.warning(
                    "deliveries were due later than retries can be, as after the clock was set back; they are due now",
                    metadata: ["function": "\(name)", "deliveries": "\(count)"])
            } catch {
                logUnreadable(error, of: name)
            }
        }
    }

    // MARK: Deliveries that can't be worked on

    /// Dead-letters deliveries that have waited too long for a function that is paused, can't be started or isn't
    /// served any more, and logs from time to time how many wait.
    func sweep() async {
        var names = queues.keys.sorted()
        do throws(DocumentError) { names = try await store.outbox.functions() } catch { logUnreadable(error) }
        for name in names {
            guard let (reason, maxAge, since) = obstacle(name) else { continue }
            // The rows of one function must not stop the others.
            do throws(DocumentError) {
                let count = try await deadLetter(olderThan: maxAge, since: since, of: name, reason)
                try await report(name, reason, deadLettered: count)
            } catch {
                logUnreadable(error, of: name)
            }
        }
    }

    private func logUnreadable(_ error: DocumentError, of function: String? = nil) {
        guard !state.withLock({ $0.isStopped }) else { return }
        var metadata: Logger.Metadata = ["error": "\(error.message)"]
        metadata["function"] = function.map { "\($0)" }
        parts.logger.error("waiting deliveries can't be read", metadata: metadata)
    }

    /// The reason why nothing can be delivered to a function, and for how many seconds its deliveries are kept; nil if
    /// they can be delivered.
    ///
    /// - Returns: the start of the obstacle, if it is known and may be later than the delivery's, by the store's clock
    ///   that never goes back.
    private func obstacle(_ name: String) -> (reason: String, maxAge: Double, since: Duration?)? {
        guard let function = functions[name], let queue = queues[name] else {
            return ("no function \(name) is served that takes events", DeliveryAge.whereGone, nil)
        }
        if let since = queue.failingSince {
            // An old backlog may only have waited for its turn.
            return ("\(name) can't be started", DeliveryAge.wherePaused(function.manifest.trigger), since)
        }
        guard function.gate.isClosed else { return nil }
        let reason = function.gate.isPaused ? "\(name) is paused" : "the budget of \(name) is used up"
        return (reason, DeliveryAge.wherePaused(function.manifest.trigger), nil)
    }

    private func deadLetter(
        olderThan maxAge: Double, since: Duration?, of name: String, _ reason: String
    ) async throws(DocumentError) -> Int {
        if let since, store.pipeline.elapsed() - since <= .seconds(maxAge) { return 0 }
        let now = parts.now()
        var last: DeliveryID?
        var count = 0
        while true {
            let page = try await store.outbox.deliveries(areDead: false, function: name, after: last, limit: Self.page)
            // The page is ordered by event, so the old deliveries come first.
            let old = page.prefix { now.seconds(since: $0.created) > maxAge }
            let late = old.filter { now.seconds(since: Self.waitsSince($0)) > maxAge }
            if !late.isEmpty {
                let deadLettered = try await store.outbox.deadLetter(
                    late, because: "\(reason), and it has waited longer than \(Int(maxAge)) s")
                state.withLock { $0.deadLettered[name, default: 0] += deadLettered }
                count += deadLettered
            }
            guard old.count == Self.page, let end = old.last else { return count }
            last = end.id
        }
    }

    private static func waitsSince(_ delivery: Delivery) -> Timestamp {
        // A delivery that was due later has waited only since then. An ordered one has waited from the start: it
        // becomes due when it is first in its queue.
        guard delivery.orderKey == nil, let due = delivery.due else { return delivery.ageStart }
        return max(delivery.ageStart, due)
    }

    private func report(_ name: String, _ reason: String, deadLettered: Int) async throws(DocumentError) {
        if deadLettered > 0 {
            parts.logger.error(
                "deliveries have waited too long and are dead letters",
                metadata: ["function": "\(name)", "deliveries": "\(deadLettered)", "reason": "\(reason)"])
        }
        let now = parts.now()
        let isDue = state.withLock { state in
            if let last = state.lastReports[name], abs(now.seconds(since: last)) < Self.reportInterval { return false }
            state.lastReports[name] = now
            return true
        }
        // Counted for the log only: counting takes longer the more there are.
        guard isDue else { return }
        let waiting = try await store.outbox.pendingCount(of: name)
        if waiting > 0 {
            parts.logger.warning(
                "deliveries wait", metadata: ["function": "\(name)", "deliveries": "\(waiting)", "reason": "\(reason)"])
        }
    }

    // MARK: Budgets

    /// Writes the used budgets if they have changed. Writes are made one after the other, so that the latest values are
    /// written last.
    func keepBudgets() async {
        let task = state.withLock { state in
            let task = Task { [earlier = state.keeping] in
                await earlier?.value
                await self.writeBudgets()
            }
            state.keeping = task
            return task
        }
        await task.value
    }

    private func writeBudgets() async {
        var changed: [String: [UInt8]] = [:]
        for (name, function) in functions {
            guard let record = function.gate.budgetRecord else { continue }
            let isNew = state.withLock { $0.budgets.updateValue(record, forKey: name) != record }
            if isNew { changed[name] = record }
        }
        guard !changed.isEmpty else { return }
        do {
            try await store.outbox.keep(changed.map { EventRecords.budget(of: $0.key, $0.value) })
        } catch {
            state.withLock { state in for name in changed.keys { state.budgets[name] = nil } }
            parts.logger.warning("what was used of budgets can't be written", metadata: ["error": "\(error.message)"])
        }
    }

    func perform(_ actions: [BudgetState.Action], of name: String) {
        for action in actions {
            switch action {
            case .warn(let use): alert(.budgetWarning, name, use, "")
            case .pause(let use): alert(.budgetExhausted, name, use, "; it is paused until the next day (UTC)")
            case .resume:
                parts.logger.notice("the function goes on within its budget", metadata: ["function": "\(name)"])
            }
        }
        queues[name]?.settle()
    }

    private func alert(_ kind: Alert.Kind, _ name: String, _ use: BudgetState.Use, _ consequence: String) {
        let message = "\(name) has used \(use.used) of \(use.limit) \(use.kind.words) of today\(consequence)"
        parts.logger.warning(
            "a budget", metadata: ["function": "\(name)", "kind": "\(kind.rawValue)", "message": "\(message)"])
        parts.alerts?.send(Alert(kind: kind, function: name, message: message, use: use, time: parts.now()))
    }
}

extension BudgetState.Use.Kind {
    fileprivate var words: String {
        switch self {
        case .invocations: "invocations"
        case .computeSeconds: "seconds of running handlers"
        }
    }
}
