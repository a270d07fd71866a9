import TestSupport
import StorageEngine
import DocumentModel
import DocumentStore
@testable import ControlProtocol
@testable import ControlAPI
import Hummingbird
import Logging
import ServiceLifecycle
import Testing

/// A check waits for index builds, which may take long. Cancelling the check doesn't wait for them.
@Suite(.endsHangs) struct IndexWaitTests {
    private struct Damaged: Error {}

    private let engine = HeldEngine()
    private let store: DocumentStore
    private let service: DataService
    private let input = AsyncThrowingStream<[UInt8], any Error> { $0.finish() }

    init() throws {
        store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        try store.start()
        service = DataService(store, database: DatabaseID(project: "p"))
    }

    /// Runs the body, and releases the writer if the body takes too long.
    private func held(_ body: () async throws -> Void) async throws {
        try await withTaskCancellationHandler {
            defer { engine.release() }
            try await body()
        } onCancel: {
            engine.release()
        }
        await store.shutdown()
    }

    /// Deletes an index entry.
    private func damage() async throws {
        let write = Write(path: try DocumentPath("c/d"), operation: .set(["n": .integer(1)]))
        _ = try await store.commit([write])
        try engine.write { writer in
            var first: [UInt8]?
            try writer.scanKeys(.index, .all, reverse: false) { key in
                first = key
                return false
            }
            guard let first else { throw Damaged() }
            try writer.delete(.index, first)
        }
    }

    @Test(arguments: [false, true], [false, true])
    func aWaitingCheckCanBeCancelled(repairing: Bool, byItsTask: Bool) async throws {
        try await damage()
        try await held {
            let cancellation = BlockingWork.Cancellation()
            // With a repair, the check waits for the rebuilt entries.
            if !repairing { engine.hold() }
            let check = Task { [service, input, engine] in
                try await service.perform(.check(repairing: repairing), input: input, until: cancellation) { event in
                    if case .problem = event { engine.hold() }
                }
            }
            #expect(await engine.isStopped())
            if byItsTask { check.cancel() } else { cancellation.cancel() }
            await #expect(throws: CancellationError.self) { try await check.value }
            engine.release()
            // The rebuild goes on.
            let outcome = try await service.perform(.check(repairing: false), input: input) { _ in }
            #expect(outcome["problems"] == (repairing ? 0 : 1))
        }
    }

    @Test func aWaitingCheckEndsWithTheHost() async throws {
        let directory = try TemporaryDirectory()
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let server = ControlServer(
            directory: directory.path, topics: [DataTopic(service: service)],
            group: EventLoopGroupProvider.singleton.eventLoopGroup, logger: logger, libraryLogger: logger)
        let services = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
        try await held {
            async let serving: Void = services.run()
            var client: ControlClient?
            while client == nil {
                client = try await ControlClient(directory: directory.path)
                await Task.yield()
            }
            engine.hold()
            let check = Task { [client, input] in
                try await client?.perform(.check(repairing: false), input: input) { _ in }
            }
            #expect(await engine.isStopped())
            await services.triggerGracefulShutdown()
            let error = await #expect(throws: DocumentError.self) { _ = try await check.value }
            #expect(error == DocumentError(.unavailable, "the host is shutting down"))
            try await serving
        }
    }
}
