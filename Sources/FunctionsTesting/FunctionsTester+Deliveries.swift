import DocumentModel
import DocumentStore
import EventDelivery
import FunctionsRuntime
import FunctionManifest
import WorkerProtocol

extension FunctionsTester {
    /// Tells functions of all that waits for them and is due, until nothing is: changes of documents, tasks and events,
    /// and what their handlers cause in turn.
    ///
    /// They are told one after the other, in the order of the events, with what a host gives: tries, leases, and the one
    /// commit of a transactional handler with the end of its delivery. What failed and is to be tried again is due later:
    /// ``advance(by:toleratingFailures:)`` gets there.
    ///
    /// - Parameter toleratingFailures: whether handlers may fail.
    /// - Returns: each try, in order.
    /// - Throws: ``TestDeliveryError`` with every failure, once all is delivered.
    @discardableResult
    public func deliverAll(toleratingFailures: Bool = false) async throws -> [TestDelivery] {
        try check(try await deliverDue(), toleratingFailures)
    }

    /// Moves the clock on and delivers what becomes due on the way, each at its time: runs of schedules, delayed tasks, and
    /// further tries. What runs beside it and has its deadline on the way is given up then.
    ///
    /// A schedule's runs are made by its own rules, as a host makes them: one whose run before is to be tried again waits for
    /// that one's end, unless its runs may overlap.
    ///
    /// - Parameter toleratingFailures: whether handlers may fail.
    /// - Returns: each try, in order.
    /// - Throws: ``TestDeliveryError`` with every failure, once the time is reached.
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

    /// The deliveries that were given up: the function, the event and the last error of each.
    public func deadLetters() async throws -> [TestDeadLetter] {
        try await store.deliveries(areDead: true, limit: .max).map {
            TestDeadLetter(
                function: $0.id.function, eventID: $0.id.event.description, attempts: $0.tries,
                error: $0.lastError ?? "")
        }
    }

    private func check(_ deliveries: [TestDelivery], _ toleratesFailures: Bool) throws -> [TestDelivery] {
        let failures = deliveries.filter { $0.error != nil }
        guard toleratesFailures || failures.isEmpty else { throw TestDeliveryError(failures: failures) }
        return deliveries
    }

    private var told: [String] {
        functions.values.filter { if case .event = $0.handler { true } else { false } }.map(\.name).sorted()
    }

    private func nextDue() async throws -> Timestamp? {
        let counts = try await store.deliveryCounts().filter { functions[$0.function] != nil }
        return (counts.compactMap(\.firstDue) + [await schedules.makeRuns(at: now)].compactMap(\.self)).min()
    }

    private func deliverDue() async throws -> [TestDelivery] {
        var deliveries: [TestDelivery] = []
        while true {
            _ = await schedules.makeRuns(at: now)
            var due: [StoredDelivery] = []
            for function in told {
                due += try await store.dueDeliveries(
                    of: function, at: now, except: [], limit: 100, maxBytes: 1_048_576
                ).deliveries
            }
            guard !due.isEmpty else { return deliveries }
            due.sort {
                ($0.delivery.id.event, $0.delivery.id.function) < ($1.delivery.id.event, $1.delivery.id.function)
            }
            for stored in due {
                // A handler before it may have deleted it.
                guard let stored = try await store.delivery(stored.delivery.id) else { continue }
                deliveries.append(try await deliver(stored))
            }
        }
    }

    private func deliver(_ stored: StoredDelivery) async throws -> TestDelivery {
        let (delivery, event) = (stored.delivery, try Event(decoding: stored.event))
        let function = delivery.id.function
        guard let lease = store.lease(delivery.id) else {
            throw TestError("\(function) is being told of \(delivery.id.event); deliver from one task at a time")
        }
        let start = now
        let attempt = DeliveryAttempt(
            event: stored.event, retryCount: delivery.tries, executionCount: delivery.executions,
            previousResponse: delivery.lastStatus, retryReason: delivery.lastError)
        let operations = OperationContext(chain: event.chain + [function], delivery: lease)
        var failure: (any Error)?
        do { try await run(function, attempt, operations) } catch { failure = error }
        // What the handler has left running changes nothing any more.
        store.revoke(lease)
        let outcome = failure.map { self.outcome($0, of: delivery, began: start) } ?? .succeeded
        try await end(lease, outcome, firstTry: start)
        return TestDelivery(
            function: function, eventID: event.id.description, attempt: delivery.tries + 1,
            outcome: TestDelivery.Outcome(outcome), error: failure)
    }

    private func outcome(_ error: any Error, of delivery: Delivery, began: Timestamp) -> DeliveryOutcome {
        let policy = functions[delivery.id.function].map { RetryPolicy($0.trigger) } ?? RetryPolicy()
        let failure = DeliveryFailure(InvocationFailure(ofEvent: error))
        return policy.outcome(of: delivery, failure, began: began, now: now)
    }

    private func end(_ lease: DeliveryLease, _ outcome: DeliveryOutcome, firstTry: Timestamp) async throws {
        let result = await withCheckedContinuation { continuation in
            store.end(lease, outcome, firstTry: firstTry) { continuation.resume(returning: $0) }
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

/// A delivery that was given up.
public struct TestDeadLetter: Hashable, Sendable {
    public let function: String
    public let eventID: String
    public let attempts: Int
    /// The last error, or the way of a loop.
    public let error: String
}
