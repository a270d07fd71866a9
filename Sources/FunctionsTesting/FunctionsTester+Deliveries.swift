import CommitPipeline
import DocumentModel
import DocumentStore
import EventDelivery
import FunctionsRuntime
import FunctionManifest
import WorkerProtocol

extension FunctionsTester {
    /// Delivers everything that is due, until nothing is: document changes, tasks and events, and what their handlers
    /// cause.
    ///
    /// Deliveries run one after the other in the order of the events, under the host's rules: attempts, leases, and one
    /// commit for a transactional handler and the end of its delivery. A retry is due later; reach it with
    /// ``advance(by:toleratingFailures:)``.
    ///
    /// - Parameter toleratingFailures: Whether handlers may fail.
    /// - Returns: All attempts, in order.
    /// - Throws: ``TestDeliveryError`` with all failures, once everything is delivered.
    @discardableResult
    public func deliverAll(toleratingFailures: Bool = false) async throws -> [TestDelivery] {
        try check(try await deliverDue(), toleratingFailures)
    }

    /// Advances the clock and delivers what becomes due, each at its time: scheduled runs, delayed tasks, and retries.
    /// Concurrent invocations whose deadline passes end with DEADLINE_EXCEEDED.
    ///
    /// A schedule's runs follow the host's rules: a run waits until the previous one has ended with all its retries,
    /// unless the job's runs may overlap.
    ///
    /// - Parameters:
    ///   - toleratingFailures: Whether handlers may fail.
    ///   - duration: How far the clock is moved.
    /// - Returns: All attempts, in order.
    /// - Throws: ``TestDeliveryError`` with all failures, once the time is reached.
    @discardableResult
    public func advance(by duration: Duration, toleratingFailures: Bool = false) async throws -> [TestDelivery] {
        let target = now.adding(duration)
        var deliveries = try await deliverDue()
        while let next = try await nextDue(), next <= target {
            moveOn(to: next)
            deliveries += try await deliverDue()
        }
        moveOn(to: target)
        return try check(deliveries, toleratingFailures)
    }

    private func moveOn(to time: Timestamp) {
        clock.advance(to: time)
        invocations.expire(at: time)
    }

    /// The dead letters: function, event and last error of each.
    public func deadLetters() async throws -> [TestDeadLetter] {
        try await store.outbox.deliveries(areDead: true, limit: .max).map {
            TestDeadLetter(
                function: $0.id.function, eventID: $0.id.event.description, attempts: $0.failedAttempts,
                error: $0.lastError ?? "")
        }
    }

    private func check(_ deliveries: [TestDelivery], _ toleratesFailures: Bool) throws -> [TestDelivery] {
        let failures = deliveries.filter { $0.error != nil }
        guard toleratesFailures || failures.isEmpty else { throw TestDeliveryError(failures: failures) }
        return deliveries
    }

    private var eventFunctions: [String] {
        functions.values.filter { if case .event = $0.handler { true } else { false } }.map(\.name).sorted()
    }

    private func nextDue() async throws -> Timestamp? {
        let counts = try await store.outbox.counts().filter { functions[$0.function] != nil }
        return (counts.compactMap(\.firstDue) + [await schedules.makeRuns(at: now)].compactMap(\.self)).min()
    }

    private func deliverDue() async throws -> [TestDelivery] {
        var deliveries: [TestDelivery] = []
        while true {
            _ = await schedules.makeRuns(at: now)
            var due: [StoredDelivery] = []
            for function in eventFunctions {
                due += try await store.outbox.dueDeliveries(
                    of: function, at: now, except: [], limit: 100, maxBytes: 1_048_576
                ).deliveries
            }
            guard !due.isEmpty else { return deliveries }
            due.sort {
                ($0.delivery.id.event, $0.delivery.id.function) < ($1.delivery.id.event, $1.delivery.id.function)
            }
            for stored in due {
                // An earlier handler may have deleted it.
                guard let stored = try await store.outbox.delivery(stored.delivery.id) else { continue }
                deliveries.append(try await deliver(stored))
            }
        }
    }

    private func deliver(_ stored: StoredDelivery) async throws -> TestDelivery {
        let (delivery, event) = (stored.delivery, try Event(decoding: stored.event))
        let function = delivery.id.function
        guard let lease = store.outbox.lease(delivery.id) else {
            throw TestError(
                "\(delivery.id.event) is being delivered to \(function) already; deliver from one task at a time")
        }
        let start = now
        let attempt = DeliveryAttempt(
            event: stored.event, retryCount: delivery.failedAttempts, executionCount: delivery.executions,
            previousResponse: delivery.lastStatus, retryReason: delivery.lastError)
        let operations = OperationContext(chain: event.chain + [function], delivery: lease)
        var failure: (any Error)?
        do { try await run(function, attempt, operations) } catch { failure = error }
        // Work that the handler has left running can't change anything any more.
        store.outbox.revoke(lease)
        let outcome = failure.map { self.outcome($0, of: delivery, began: start) } ?? .succeeded
        try await end(lease, outcome, firstAttempt: start)
        return TestDelivery(
            function: function, eventID: event.id.description, attempt: delivery.failedAttempts + 1,
            outcome: TestDelivery.Outcome(outcome), error: failure)
    }

    private func outcome(_ error: any Error, of delivery: Delivery, began: Timestamp) -> DeliveryOutcome {
        let policy = functions[delivery.id.function].map { RetryPolicy($0.trigger) } ?? RetryPolicy()
        let reason = InvocationFailure(ofEvent: error)
        let failure = DeliveryFailure(reason)
        if reason.isPermanent { return .dead(failure) }
        return policy.outcome(of: delivery, failure, began: began, now: now)
    }

    private func end(_ lease: DeliveryLease, _ outcome: DeliveryOutcome, firstAttempt: Timestamp) async throws {
        let result = await withCheckedContinuation { continuation in
            store.outbox.end(lease, outcome, firstAttempt: firstAttempt) { continuation.resume(returning: $0) }
        }
        _ = try result.get()
    }
}

extension TestDelivery.Outcome {
    init(_ outcome: DeliveryOutcome) {
        self =
            switch outcome {
            case .succeeded: .succeeded
            case .retry(let time, _): .retried(at: time)
            case .dead: .dead
            case .dropped: .dropped
            }
    }
}

/// A dead letter.
public struct TestDeadLetter: Hashable, Sendable {
    public let function: String
    public let eventID: String
    public let attempts: Int
    /// The last error, or the chain of a loop.
    public let error: String
}
