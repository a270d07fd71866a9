import CommitPipeline
import DocumentModel
import DocumentStore
import EventDelivery
import FunctionManifest
import WorkerProtocol
import Workers
import Logging
import Sharing
import Synchronization

/// The deliveries of one function: performs what ``DeliveryQueueState`` decides, and writes the outcome of each
/// attempt.
final class DeliveryQueue: Sendable {
    /// What all queues use.
    struct Parts: Sendable {
        let store: DocumentStore
        let reads: AsyncSemaphore
        let timer: any EventTimer
        let now: @Sendable () -> Timestamp
        /// The host's, for what concerns the store and not the function.
        let logger: Logger
    }

    private struct State {
        var machine: DeliveryQueueState
        var policy: RetryPolicy
        var launcher: any DeliveryLauncher
        var counters = DeliveryCounters()
        /// Since when the function's handlers can't be started, by the store's clock that never goes back; nil if they
        /// can.
        var failingSince: Duration?
        /// The damaged deliveries that the log has named.
        var damaged: Set<EventID> = []
        var phase = Phase.waiting
    }

    private enum Phase {
        /// The host isn't serving yet.
        case waiting
        case serving
        /// The function is no longer served.
        case retired
        case stopped
    }

    let function: String
    let gate: FunctionGate
    private let parts: Parts
    private let logger: Logger
    private let state: Mutex<State>

    /// Seconds before a failed write is repeated.
    private static let pause = 1.0
    /// The maximum number of damaged deliveries that the log names: a check of the store reports all of them.
    private static let maxNamed = 100

    init(_ manifest: FunctionManifest, gate: FunctionGate, parts: Parts, launcher: any DeliveryLauncher) {
        function = manifest.name
        logger = Logger(label: manifest.name)
        self.gate = gate
        self.parts = parts
        state = Mutex(
            State(
                machine: DeliveryQueueState(limits: DeliveryQueueState.Limits(manifest)),
                policy: RetryPolicy(manifest.trigger), launcher: launcher))
    }

    // MARK: What happens

    /// Starts to deliver, unless the gate is closed.
    func begin() {
        state.withLock { if $0.phase != .stopped { $0.phase = .serving } }
        settle()
    }

    /// Checks again whether the gate is open.
    func settle() {
        perform { state, now in
            guard state.phase == .serving else { return [] }
            // Read under the lock, so that the gate's latest state always prevails.
            if !gate.isClosed { return state.machine.opened(now: now) }
            state.machine.closed()
            return []
        }
    }

    /// Delivers to another release of the function from now on. Running handlers continue in their processes.
    func serve(_ manifest: FunctionManifest, by launcher: any DeliveryLauncher) {
        perform { state, now in
            state.policy = RetryPolicy(manifest.trigger)
            state.launcher = launcher
            return state.machine.limit(to: DeliveryQueueState.Limits(manifest), now: now)
        }
    }

    /// The function is no longer served: nothing more is started. Running handlers end as usual.
    func retire() {
        state.withLock { state in
            if state.phase != .stopped { state.phase = .retired }
            state.machine.closed()
        }
    }

    func stop() {
        state.withLock {
            $0.phase = .stopped
            $0.machine.stopped()
        }
    }

    func take(_ due: [StoredDelivery], later: Timestamp? = nil, withdrawn: Set<EventID> = [], dead: [Delivery] = []) {
        for delivery in dead {
            logger.error(
                "an event is a dead letter at once",
                metadata: ["event.id": "\(delivery.id.event)", "error": "\(delivery.lastError ?? "")"])
        }
        perform { state, now in
            state.counters.deadLetters += dead.count
            if !withdrawn.isEmpty { state.machine.withdrawn(withdrawn) }
            return state.machine.arrived(due, later: later, now: now)
        }
    }

    // MARK: What there is

    func isInFlight(_ event: EventID) -> Bool { state.withLock { $0.machine.isInFlight(event) } }

    var inFlightCount: Int { state.withLock { $0.machine.inFlightCount } }

    var counters: DeliveryCounters { state.withLock { $0.counters } }

    /// The longest delay before a retry, in seconds.
    var longestPause: Double { state.withLock { $0.policy.longestPause } }

    /// Since when the function's handlers can't be started, by the store's clock that never goes back; nil if they can,
    /// or if none was attempted.
    var failingSince: Duration? { state.withLock { $0.failingSince } }

    // MARK: Doing it

    /// Passes an input to the state machine under the lock, and performs the resulting actions after releasing it.
    /// Leases are taken under the lock, so that no operator can change a delivery between the decision and its lease.
    private func perform(_ input: (inout State, Timestamp) -> [DeliveryQueueState.Action]) {
        let now = parts.now()
        typealias Step = (action: DeliveryQueueState.Action, lease: DeliveryLease?)
        // The launcher too: a release that replaces it may have fewer places.
        let (steps, launcher) = state.withLock { state in
            let steps: [Step] = input(&state, now).map { action in
                guard case .start(let stored) = action else { return (action, nil) }
                return (action, parts.store.outbox.lease(stored.delivery.id))
            }
            return (steps, state.launcher)
        }
        guard !steps.isEmpty else { return }
        var starts: [DeliveryStart] = []
        var refused: [EventID] = []
        for (action, lease) in steps {
            switch action {
            case .start(let stored):
                if let start = start(stored, lease) {
                    starts.append(start)
                } else {
                    refused.append(stored.delivery.id.event)
                }
            case .read(let request): read(request)
            case .wake(let time): wake(at: time)
            }
        }
        if !starts.isEmpty { launcher.launch(starts) }
        guard !refused.isEmpty else { return }
        settle()
        for event in refused { perform { $0.machine.returned(event, now: $1) } }
    }

    /// - Returns: nil if the lease is taken.
    private func start(_ stored: StoredDelivery, _ lease: DeliveryLease?) -> DeliveryStart? {
        guard let lease else { return nil }
        let began = parts.now()
        return DeliveryStart(
            stored: stored, lease: lease, onStart: { [self] in started(stored.delivery) },
            onFailure: { [self] in parts.store.outbox.revoke(lease) },
            onEnd: { [self] in conclude(Attempt(delivery: stored.delivery, began: began, execution: $1), lease, $0) })
    }

    private func started(_ delivery: Delivery) {
        guard let due = delivery.due else { return }
        let seconds = parts.now().seconds(since: due)
        let wasFailing = state.withLock { state in
            state.counters.latency.add(seconds: seconds)
            return state.machine.isFailing
        }
        guard wasFailing else { return }
        perform { state, now in
            state.failingSince = nil
            return state.machine.started(now: now)
        }
    }

    private func read(_ request: DeliveryQueueState.Request) {
        parts.reads.run { [self] in
            do throws(DocumentError) {
                let (deliveries, hasMore, nextDue, damaged) = try await parts.store.outbox.dueDeliveries(
                    of: function, at: parts.now(), except: request.except, limit: request.limit,
                    maxBytes: request.maxBytes)
                report(damaged)
                let page = DeliveryQueueState.Page(deliveries: deliveries, hasMore: hasMore, nextDue: nextDue)
                perform { $0.machine.read(page, now: $1) }
            } catch {
                guard state.withLock({ $0.phase != .stopped }) else { return }
                logger.error("deliveries can't be read", metadata: ["error": "\(error.message)"])
                perform { $0.machine.readFailed(now: $1) }
            }
        }
    }

    /// Names each delivery that reads skip, once.
    private func report(_ damaged: [EventID]) {
        guard !damaged.isEmpty else { return }
        let new = state.withLock { state in
            let new = damaged.filter { !state.damaged.contains($0) }.prefix(Self.maxNamed - state.damaged.count)
            state.damaged.formUnion(new)
            return new
        }
        for event in new {
            parts.logger.error(
                "a due delivery can't be read and is skipped; \"functions-host data check --repair\" restores it",
                metadata: ["function": "\(function)", "event.id": "\(event)"])
        }
    }

    private func wake(at time: Timestamp) {
        parts.timer.schedule(afterSeconds: time.seconds(since: parts.now())) { [weak self] in
            guard let self, state.withLock({ $0.phase != .stopped }) else { return }
            perform { $0.machine.tick(for: time, now: $1) }
        }
    }

    // MARK: After an attempt

    private struct Attempt {
        let delivery: Delivery
        let began: Timestamp
        let execution: AttemptExecution

        /// For the log.
        var metadata: Logger.Metadata {
            var metadata: Logger.Metadata = ["event.id": "\(delivery.id.event)"]
            metadata["execution.id"] = execution.id.map { "\($0)" }
            metadata["error.type"] = execution.failure?.errorType.map { "\($0)" }
            return metadata
        }
    }

    private func conclude(_ attempt: Attempt, _ lease: DeliveryLease, _ end: AttemptEnd) {
        let event = attempt.delivery.id.event
        switch end {
        case .succeeded: write(.succeeded, lease, attempt)
        case .completed:
            perform { state, now in
                state.counters.note(.succeeded)
                return state.machine.ended(event, now: now)
            }
        case .failed(let failure):
            let outcome = state.withLock { $0.policy }.outcome(
                of: attempt.delivery, failure, began: attempt.began, now: parts.now())
            write(outcome, lease, attempt)
        case .failedForGood(let failure): write(.dead(failure), lease, attempt)
        case .refused:
            parts.store.outbox.release(lease)
            settle()
            perform { $0.machine.returned(event, now: $1) }
        case .displaced:
            // The launcher is the other release's by now.
            parts.store.outbox.release(lease)
            perform { $0.machine.displaced(event, now: $1) }
        case .returned:
            parts.store.outbox.release(lease)
            perform { $0.machine.returned(event, now: $1) }
        case .lostInCompany(let end):
            parts.store.outbox.release(lease)
            logger.warning(
                "a process ended while it ran several handlers; an event is delivered again, alone",
                metadata: attempt.metadata.merging(["worker.end": "\(end)"]) { $1 })
            perform { $0.machine.lostInCompany(event, now: $1) }
        case .notStarted(let reason):
            parts.store.outbox.release(lease)
            logger.warning(
                "a handler can't be started; its event waits",
                metadata: attempt.metadata.merging(["reason": "\(reason)"]) { $1 })
            let elapsed = parts.store.pipeline.elapsed()
            perform { state, now in
                let actions = state.machine.misstarted(event, now: now)
                if state.machine.isFailing { state.failingSince = state.failingSince ?? elapsed }
                return actions
            }
        }
    }

    /// Writes an attempt's outcome. The delivery stays leased until it is written, however long that takes.
    private func write(_ outcome: DeliveryOutcome, _ lease: DeliveryLease, _ attempt: Attempt) {
        let delivery = attempt.delivery
        parts.store.outbox.end(lease, outcome, firstAttempt: attempt.began) { [self] result in
            switch result {
            case .success(let count):
                if count > 0 { log(outcome, attempt) } else { logOvertaken(outcome, attempt) }
                // If no delivery was left to end, the handler's own commit has ended it, or it was deleted.
                let outcome = count == 0 ? .succeeded : outcome
                var again: Timestamp?
                if case .retry(let due, _) = outcome { again = due }
                perform { [again] state, now in
                    state.counters.note(outcome)
                    return state.machine.ended(delivery.id.event, due: again, now: now)
                }
            case .failure(let error):
                guard state.withLock({ $0.phase != .stopped }) else { return }
                logger.error(
                    "the end of a delivery can't be written",
                    metadata: ["event.id": "\(delivery.id.event)", "error": "\(error.message)"])
                if error.code == .dataLoss {
                    // The delivery's row can't be read any more, and is skipped from now on.
                    parts.store.outbox.release(lease)
                    return perform { $0.machine.ended(delivery.id.event, now: $1) }
                }
                parts.timer.schedule(afterSeconds: Self.pause) { [self] in
                    write(outcome, lease, attempt)
                }
            }
        }
    }

    private func logOvertaken(_ outcome: DeliveryOutcome, _ attempt: Attempt) {
        switch outcome {
        case .succeeded: break
        case .retry(_, let failure), .dropped(let failure), .dead(let failure):
            logger.warning(
                "an event's handler failed after its delivery was over",
                metadata: attempt.metadata.merging(["error": "\(failure.message)"]) { $1 })
        }
    }

    /// The only line about a failed attempt: the worker logs none.
    private func log(_ outcome: DeliveryOutcome, _ attempt: Attempt) {
        func metadata(_ failure: DeliveryFailure) -> Logger.Metadata {
            attempt.metadata.merging([
                "try": "\(attempt.delivery.failedAttempts + 1)", "error": "\(failure.message)",
            ]) { $1 }
        }
        switch outcome {
        case .succeeded: break
        case .retry(let due, let failure):
            logger.warning(
                "an event's handler failed; it will be retried",
                metadata: metadata(failure).merging(["due": "\(due)"]) { $1 })
        case .dropped(let failure):
            logger.error("an event's handler failed; the event is dropped", metadata: metadata(failure))
        case .dead(let failure):
            logger.error("an event's handler failed; the event is a dead letter", metadata: metadata(failure))
        }
    }
}

extension DeliveryCounters {
    fileprivate mutating func note(_ outcome: DeliveryOutcome) {
        attempts += 1
        switch outcome {
        case .succeeded: return
        case .retry: break
        case .dead: deadLetters += 1
        case .dropped: dropped += 1
        }
        failures += 1
    }
}
