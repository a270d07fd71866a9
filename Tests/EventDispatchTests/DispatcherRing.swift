import CommitPipeline
import StorageEngine
import DocumentModel
import FunctionManifest
import DocumentStore
import EventDelivery
@testable import Workers
@testable import EventDispatch
@testable import HostConfiguration
import Logging
import Synchronization
import TestSupport
import Testing

/// A dispatcher on a store of its own, with handlers and a clock that the test moves.
final class DispatcherRing: Sendable {
    let clock: ManualClock
    let store: DocumentStore
    let service: EventService
    let launchers: [String: ScriptedLauncher]
    let gates: [String: FunctionGate]
    let alerts: SentAlerts

    /// - Parameters:
    ///   - earlier: whose store it goes on with, as a host that was started again does.
    ///   - engine: of a store of its own.
    ///   - begins: whether it works on deliveries from the start.
    ///   - startsHandlers: whether workers can be started.
    ///   - logger: the host's.
    init(
        _ functions: [FunctionManifest], budgets: [String: FunctionBudget] = [:],
        after earlier: DispatcherRing? = nil, on engine: any StorageEngine = MemoryEngine(),
        clock: ManualClock? = nil, begins: Bool = true, startsHandlers: Bool = true, logger: Logger = .silent
    ) async throws {
        let clock = earlier?.clock ?? clock ?? ManualClock.at()
        self.clock = clock
        if let earlier {
            store = earlier.store
        } else {
            store = try DocumentStore(engine: engine, now: clock.timestamp, elapsed: clock.elapsed)
            try store.start()
        }
        let records = try await EventRecords.load(store)
        let alerts = SentAlerts()
        self.alerts = alerts
        var launchers: [String: ScriptedLauncher] = [:]
        var gates: [String: FunctionGate] = [:]
        for function in functions {
            let gate = FunctionGate(
                function.name, budget: budgets[function.name], record: records.budgets[function.name],
                now: clock.timestamp,
                logger: .silent)
            gates[function.name] = gate
            if function.trigger.isForEvents {
                launchers[function.name] = ScriptedLauncher(gate, startsHandlers: startsHandlers)
            }
        }
        (self.launchers, self.gates) = (launchers, gates)
        service = try EventService(
            functions.map { function in
                EventService.Function(
                    manifest: function, gate: try #require(gates[function.name]), launcher: launchers[function.name])
            },
            records: records, maxDepth: 4,
            parts: .init(
                store: store, timer: clock, now: clock.timestamp, alerts: alerts,
                logger: logger))
        if begins { service.begin() }
    }

    func launcher(_ name: String) throws -> ScriptedLauncher { try #require(launchers[name]) }

    @discardableResult
    func set(_ path: String, _ fields: [String: Value] = [:], in context: OperationContext = OperationContext())
        async throws -> CommitResult
    {
        try await commit([Write(path: try DocumentPath(path), operation: .set(fields))], in: context)
    }

    @discardableResult
    func commit(
        _ writes: [Write] = [], _ effects: [Effect] = [], in context: OperationContext = OperationContext()
    ) async throws -> CommitResult {
        try await store.commit(writes, effects: effects, in: context).result
    }

    /// Returns once all that was given to the store's writer is durable and reported.
    func written() async throws { try await store.outbox.keep([("test/barrier", nil)]) }

    func pending(_ function: String) async throws -> [Delivery] {
        try await written()
        return try await store.outbox.deliveries(areDead: false, function: function, limit: 10_000)
    }

    /// The pending deliveries without a lease: a lease that is never released would keep them forever.
    func unleased(_ function: String) async throws -> [DeliveryID] {
        try await pending(function).map(\.id).filter { id in
            guard let lease = store.outbox.lease(id) else { return false }
            store.outbox.release(lease)
            return true
        }
    }

    func dead(_ function: String) async throws -> [Delivery] {
        try await written()
        return try await store.outbox.deliveries(areDead: true, function: function, limit: 10_000)
    }

    func counters(_ function: String) throws -> DeliveryCounters { try #require(service.queues[function]).counters }
}

final class SentAlerts: AlertSink {
    private let sent = Mutex<[Alert]>([])

    func send(_ alert: Alert) { sent.withLock { $0.append(alert) } }

    var all: [Alert] { sent.withLock { $0 } }
}

extension Logger {
    static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

extension DeliveryFailure {
    static let broken = DeliveryFailure("INTERNAL: it broke", status: 500)
}
