import CommitPipeline
import StorageEngine
import DocumentModel
import DocumentStore
import EventDispatch
import FunctionManifest
import Foundation
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Runs all of a function's deliveries through the host's dispatcher, with handlers that end at once.
///
/// The measurement is only valid in a process that does nothing else.
struct DispatcherDrain {
    /// The cost of the drain, in seconds and bytes.
    struct Report: Codable, Sendable {
        var deliveries: Int
        var elapsed: Double
        var cpu: Double
        /// Resident memory after a tenth of the deliveries, its maximum from then on, and its maximum over all.
        var early: Int
        var late: Int
        var peak: Int
    }

    let file: String
    let function: String

    func run() async throws -> Report {
        let engine = try MeasuredEngine.open(file)
        let store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        try store.start()
        let count = try await store.outbox.pendingCount(of: function)
        guard count > 0 else { throw LoadError("\(function) has no deliveries") }
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let launcher = InstantLauncher(eventLoop)
        let service = try EventService(
            [(manifest: Self.queue(function), launcher: launcher)], on: store, eventLoop: eventLoop,
            logger: Logger(label: "drain"))
        let (start, cpu) = (ContinuousClock.now, OwnProcess.cpuSeconds())
        let running = Task { try await service.run() }
        var early: Int?
        var late = 0
        while launcher.count < count {
            try await Task.sleep(for: .milliseconds(20))
            guard launcher.count >= count / 10 else { continue }
            let resident = try OwnProcess.residentBytes()
            early = early ?? resident
            late = max(late, resident)
        }
        // This is durable only after the end of each delivery is.
        try await store.outbox.keep([("bench/drained", nil)])
        let report = Report(
            deliveries: launcher.count, elapsed: (ContinuousClock.now - start).seconds,
            cpu: OwnProcess.cpuSeconds() - cpu, early: early ?? 0, late: late,
            peak: try OwnProcess.peakResidentBytes())
        running.cancel()
        try await running.value
        await store.shutdown()
        try engine.close()
        return report
    }

    /// Runs the drain in its own process.
    func runInChildProcess(log: URL) async throws -> Report {
        let text = try await ChildProcess.outputLine(
            "drained", of: ["drain-store", "--file", file, "--function", function], log: log, within: .seconds(900))
        return try JSONDecoder().decode(Report.self, from: Data(text.utf8))
    }

    /// A task queue that is limited only by how many deliveries may be in flight.
    private static func queue(_ name: String) -> FunctionManifest {
        FunctionManifest(
            name: name, regions: ["us-central1"], memoryMiB: 256, timeoutSeconds: 60, cpu: 1, concurrency: 100,
            minInstances: 0, maxInstances: 10, labels: [:], secrets: [], ingress: "all", invoker: [],
            isTransactional: false, trigger: .task(.init(maxDispatchesPerSecond: 1_000_000)))
    }
}

/// Starts and ends handlers on an event loop, as workers' handlers do. They do nothing.
private final class InstantLauncher: DeliveryLauncher {
    private let eventLoop: any EventLoop
    private let ended = Atomic(0)

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// How many handlers have ended.
    var count: Int { ended.load(ordering: .relaxed) }

    func launch(_ starts: [DeliveryStart]) {
        eventLoop.execute {
            for start in starts {
                start.onStart()
                start.onEnd(.succeeded, AttemptExecution())
                self.ended.add(1, ordering: .relaxed)
            }
        }
    }
}
