import CommitPipeline
package import DocumentModel
package import DocumentStore
package import EventDelivery
package import FunctionManifest
package import Workers
package import Logging
import Sharing
import ServiceLifecycle
import Synchronization

/// The dispatcher: delivers the outbox's events to functions, and gives the operator a view of it.
package final class EventService: Service {
    /// The parts of the host that it uses.
    package struct Parts: Sendable {
        package let store: DocumentStore
        package let timer: any EventTimer
        package let now: @Sendable () -> Timestamp
        /// Nil if the operator wants no alerts.
        package let alerts: (any AlertSink)?
        package let logger: Logger

        package init(
            store: DocumentStore, timer: any EventTimer, now: @escaping @Sendable () -> Timestamp,
            alerts: (any AlertSink)?, logger: Logger
        ) {
            self.store = store
            self.timer = timer
            self.now = now
            self.alerts = alerts
            self.logger = logger
        }
    }

    /// A served function.
    package struct Function: Sendable {
        package let manifest: FunctionManifest
        package let gate: FunctionGate
        /// Nil for a function that requests start.
        package let launcher: (any DeliveryLauncher)?

        package init(manifest: FunctionManifest, gate: FunctionGate, launcher: (any DeliveryLauncher)?) {
            self.manifest = manifest
            self.gate = gate
            self.launcher = launcher
        }
    }

    struct State {
        var pauses: [String: Timestamp]
        /// The last written record of each budget.
        var budgets: [String: [UInt8]]
        /// The last task that writes budgets.
        var keeping: Task<Void, Never>?
        /// When it was last logged that deliveries wait for a function that can't take them.
        var lastReports: [String: Timestamp] = [:]
        var sweptAt: Timestamp?
        /// The wall clock at the last look for deliveries that are due too late, and the functions that it was for.
        var checkedAt: Timestamp?
        var checked: Set<String> = []
        /// The number of deliveries that were dead-lettered because they had waited too long, by function.
        var deadLettered: [String: Int] = [:]
        var counts: (deliveries: [DeliveryCounts], time: Timestamp, seconds: Double)?
        /// The functions whose deliveries can't be counted, as the log says.
        var uncounted: Set<String> = []
        /// The count under way.
        var counting: Task<Result<[DeliveryCounts], DocumentError>, Never>?
        var isStopped = false
    }

    /// The served functions, with the queues of those that handle events.
    private struct Serving {
        var functions: [String: Function] = [:]
        var queues: [String: DeliveryQueue] = [:]
        /// Queues of functions that are no longer served, whose last handlers still run. A function that is served
        /// again gets its queue back, which knows these handlers.
        var retired: [String: DeliveryQueue] = [:]
        var phase = Phase.waiting
    }

    private enum Phase {
        case waiting, serving, stopped
    }

    package let parts: Parts
    /// The number of queues that read from the outbox at the same time, one page each: the store's readers serve
    /// documents too, and a function with a large backlog must not delay the others.
    private static let maxReads = 2

    private let maxDepth: Int
    private let queueParts: DeliveryQueue.Parts
    private let serving = Mutex(Serving())
    let state: Mutex<State>
    /// Pauses and resumes are performed one after the other, so that the last one written is the one that applies.
    let pauseTurns = AsyncSemaphore(1)

    var store: DocumentStore { parts.store }

    /// - Parameter maxDepth: the maximum number of functions in a chain of events.
    /// - Throws: ``DocumentPattern/Problem`` for a manifest that its own check refuses.
    package init(
        _ functions: [Function], records: EventRecords, maxDepth: Int, parts: Parts
    ) throws(DocumentPattern.Problem) {
        self.parts = parts
        self.maxDepth = maxDepth
        state = Mutex(State(pauses: records.pauses, budgets: records.budgets))
        queueParts = DeliveryQueue.Parts(
            store: parts.store, reads: AsyncSemaphore(Self.maxReads), timer: parts.timer, now: parts.now,
            logger: parts.logger)
        try serve(functions)
        parts.store.outbox.onChanges { [weak self] changes in self?.take(changes) }
    }

    package var functions: [String: Function] { serving.withLock { $0.functions } }
    var queues: [String: DeliveryQueue] { serving.withLock { $0.queues } }

    /// Delivers events to these functions from now on, and to no others. Running handlers continue in their processes.
    ///
    /// - Throws: ``DocumentPattern/Problem`` for a manifest that its own check refuses; then nothing has changed.
    package func serve(_ functions: [Function]) throws(DocumentPattern.Problem) {
        let routes = try FunctionRoutes(functions.map(\.manifest), maxDepth: maxDepth)
        typealias Change = (queue: DeliveryQueue, manifest: FunctionManifest, launcher: any DeliveryLauncher)
        let (kept, begun, gone) = serving.withLock { serving in
            let before = serving.queues
            var kept: [Change] = []
            serving.functions = Dictionary(functions.map { ($0.manifest.name, $0) }) { first, _ in first }
            serving.queues = [:]
            var begun: [DeliveryQueue] = []
            for function in functions {
                guard let launcher = function.launcher else { continue }
                let name = function.manifest.name
                if let queue = before[name] ?? serving.retired[name] {
                    kept.append((queue, function.manifest, launcher))
                    serving.queues[name] = queue
                    if before[name] == nil, serving.phase == .serving { begun.append(queue) }
                } else {
                    let queue = DeliveryQueue(
                        function.manifest, gate: function.gate, parts: queueParts, launcher: launcher)
                    serving.queues[name] = queue
                    if serving.phase == .serving { begun.append(queue) }
                }
            }
            let gone = before.filter { serving.queues[$0.key] == nil }
            serving.retired = serving.retired.merging(gone) { $1 }.filter { name, queue in
                serving.queues[name] == nil && queue.inFlightCount > 0
            }
            return (kept, begun, gone.values)
        }
        for function in functions {
            let name = function.manifest.name
            state.withLock { function.gate.isPaused = EventRecords.isPaused(name, $0.pauses) }
            function.gate.onBudget { [weak self] actions in self?.perform(actions, of: name) }
        }
        for change in kept { change.queue.serve(change.manifest, by: change.launcher) }
        parts.store.routeEvents(by: routes)
        for queue in gone { queue.retire() }
        for queue in begun { queue.begin() }
    }

    /// Delivers until the graceful shutdown begins. Then running handlers continue, and nothing more is started.
    package func run() async throws {
        begin()
        try? await gracefulShutdown()
        stop()
    }

    func begin() {
        let queues = serving.withLock { serving in
            serving.phase = .serving
            return serving.queues
        }
        for queue in queues.values { queue.begin() }
        lookAfterItself()
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        let queues = serving.withLock { serving in
            serving.phase = .stopped
            return serving.queues
        }
        for queue in queues.values { queue.stop() }
    }

    /// Writes the state that is only in memory, once nothing runs any more.
    package func finish() async { await keepBudgets() }

    /// Called on the store's writer thread.
    private func take(_ changes: OutboxChanges) {
        if changes.due.count == 1, changes.withdrawn.isEmpty, changes.dead.isEmpty, changes.later.isEmpty,
            let stored = changes.due.first
        {
            serving.withLock { $0.queues[stored.delivery.id.function] }?.take([stored])
            return
        }
        let queues = queues
        let due = Dictionary(grouping: changes.due) { $0.delivery.id.function }
        let later = Dictionary(changes.later.map { ($0.function, $0.due) }) { min($0, $1) }
        let withdrawn = Dictionary(grouping: changes.withdrawn, by: \.function).mapValues { Set($0.map(\.event)) }
        let dead = Dictionary(grouping: changes.dead) { $0.id.function }
        for name in Set(due.keys).union(later.keys).union(withdrawn.keys).union(dead.keys) {
            queues[name]?.take(
                due[name] ?? [], later: later[name], withdrawn: withdrawn[name] ?? [], dead: dead[name] ?? [])
        }
    }

    /// Whether a handler is running for the delivery.
    package func isInFlight(_ id: DeliveryID) -> Bool { queues[id.function]?.isInFlight(id.event) ?? false }

    // MARK: Metrics

    /// The metrics of each function that is served or has deliveries. Stored deliveries are counted at most once per
    /// second.
    package func metrics() async throws(DocumentError) -> [DeliveryMetrics] {
        let counts = try await deliveryCounts()
        var metrics: [String: DeliveryMetrics] = [:]
        for (name, queue) in queues {
            metrics[name] = DeliveryMetrics(
                function: name, inFlight: queue.inFlightCount, counters: queue.counters)
        }
        for count in counts {
            var of = metrics[count.function] ?? DeliveryMetrics(function: count.function, isServed: false)
            (of.pending, of.dead, of.oldest, of.damage) = (count.pending, count.dead, count.oldest, count.damage)
            metrics[count.function] = of
        }
        for (name, count) in state.withLock({ $0.deadLettered }) {
            metrics[name, default: DeliveryMetrics(function: name, isServed: false)].counters.deadLetters += count
        }
        return metrics.values.sorted { $0.function < $1.function }
    }

    func deliveryCounts() async throws(DocumentError) -> [DeliveryCounts] {
        let now = parts.now()
        // Counting reads every row, so it is repeated less often if it takes long.
        if let counts = state.withLock({ $0.counts }),
            abs(now.seconds(since: counts.time)) < max(1, counts.seconds * 50)
        {
            return counts.deliveries
        }
        // Those who ask meanwhile get the same counts.
        let counting = state.withLock { state in
            let counting = state.counting ?? Task { await self.countDeliveries() }
            state.counting = counting
            return counting
        }
        return try await counting.value.get()
    }

    private func countDeliveries() async -> Result<[DeliveryCounts], DocumentError> {
        let now = parts.now()
        // The wall clock may be set meanwhile.
        let start = store.pipeline.elapsed()
        do throws(DocumentError) {
            let deliveries = try await store.outbox.counts(of: Array(queues.keys))
            let seconds = (store.pipeline.elapsed() - start) / .seconds(1)
            let damaged = deliveries.filter { $0.damage != nil }
            let new = state.withLock { state in
                (state.counts, state.counting) = ((deliveries, now, seconds), nil)
                defer { state.uncounted = Set(damaged.map(\.function)) }
                return damaged.filter { !state.uncounted.contains($0.function) }
            }
            for count in new {
                parts.logger.error(
                    "deliveries can't be counted; see \"functions-host data check\"",
                    metadata: ["function": "\(count.function)", "error": "\(count.damage ?? "")"])
            }
            return .success(deliveries)
        } catch {
            state.withLock { $0.counting = nil }
            return .failure(error)
        }
    }
}

extension DeliveryQueueState.Limits {
    package init(_ manifest: FunctionManifest) {
        if case .task(let trigger) = manifest.trigger {
            self.init(concurrency: manifest.maxConcurrentDeliveries, rate: trigger.maxDispatchesPerSecond)
        } else {
            self.init(concurrency: manifest.maxConcurrentDeliveries)
        }
    }
}
