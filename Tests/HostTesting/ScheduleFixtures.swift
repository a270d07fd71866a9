package import CommitPipeline
package import DocumentModel
package import FunctionManifest
package import DocumentStore
package import EventDelivery
package import StorageEngine
import Logging
package import TestSupport

/// A store with scheduled functions and a clock that tests set.
package final class ScheduleFixtures: Sendable {
    package let engine: any StorageEngine
    package let clock: ManualClock
    package let functions: [FunctionManifest]

    package init(_ functions: [FunctionManifest], at start: Timestamp, engine: any StorageEngine = MemoryEngine()) {
        self.engine = engine
        clock = ManualClock(at: start)
        self.functions = functions
    }

    package static func function(
        _ name: String, _ schedule: String, zone: String = "UTC", missedRuns: MissedRunsManifest = .once,
        overlaps: Bool = false
    ) -> FunctionManifest {
        FunctionManifest(
            name: name, regions: ["us-central1"], memoryMiB: 256, timeoutSeconds: 60, cpu: 1, concurrency: 1,
            minInstances: 0, maxInstances: 1, labels: [:], secrets: [], ingress: "all", invoker: [],
            isTransactional: false,
            trigger: .schedule(
                .init(
                    schedule: schedule, timeZone: zone, retryCount: 0, maxRetrySeconds: 0, minBackoffSeconds: 5,
                    maxBackoffSeconds: 60, maxDoublings: 5, missedRuns: missedRuns, overlaps: overlaps)))
    }

    package var jobs: [ScheduledJob] { get throws { try functions.compactMap { try ScheduledJob($0) } } }

    package var now: Timestamp {
        get { clock.timestamp() }
        set { clock.setWall(newValue) }
    }

    /// Opens the store as a host does at startup.
    package func open() throws -> DocumentStore {
        let store = try DocumentStore(engine: engine, now: { self.now })
        try store.start()
        return store
    }

    /// Runs a body with an open store, which is shut down afterwards.
    package func serving(_ body: (DocumentStore) async throws -> Void) async throws {
        let store = try open()
        do {
            try await body(store)
        } catch {
            await store.shutdown()
            throw error
        }
        await store.shutdown()
    }
}

extension DocumentStore {
    /// The due times of a job's pending runs.
    package func openRuns(of function: String) async throws -> [Timestamp] {
        var runs: [Timestamp] = []
        for delivery in try await outbox.deliveries(areDead: false, function: function, limit: 1000) {
            guard let stored = try await outbox.delivery(delivery.id) else { continue }
            runs.append(try Event(decoding: stored.event).time)
        }
        return runs
    }

    /// Ends a job's pending runs as a worker would.
    ///
    /// - Returns: the ends of their deliveries.
    @discardableResult
    package func work(on function: String, at now: Timestamp, as outcome: DeliveryOutcome = .succeeded) async throws
        -> [DeliveryEnd]
    {
        var ends: [DeliveryEnd] = []
        for delivery in try await outbox.deliveries(areDead: false, function: function, limit: 1000) {
            ends += try await finish(delivery.id, at: now, as: outcome)
        }
        return ends
    }

    /// Ends one delivery.
    package func finish(
        _ id: DeliveryID, at now: Timestamp, as outcome: DeliveryOutcome = .succeeded
    ) async throws -> [DeliveryEnd] {
        guard let lease = outbox.lease(id) else { return [] }
        _ = try await withCheckedContinuation { continuation in
            outbox.end(lease, outcome) { continuation.resume(returning: $0) }
        }.get()
        return [DeliveryEnd(id: id, outcome: .succeeded, time: now)]
    }
}
