import ControlAPI
import ControlProtocol
import DocumentModel
import DocumentStore
import Foundation
import Hummingbird
import Logging
import ServiceLifecycle
import StorageEngine
import TestSupport
import Testing

@Suite(.endsHangs) struct DataTopicTests {
    private struct Unexpected: Error, CustomStringConvertible {
        var description: String { "the copy failed in an unexpected way" }
    }

    /// An engine whose copies fail with an error of its own.
    private struct FailingCopies: EmbeddedEngine {
        private let engine = MemoryEngine()

        func copy(to target: String, replacing: Bool, progress: (WorkProgress) throws -> Void) throws -> Int {
            throw Unexpected()
        }

        func findDamage(until cancellation: BlockingWork.Cancellation, _ report: (String) throws -> Bool) throws {}

        func compact(
            _ extent: CompactionExtent, until cancellation: BlockingWork.Cancellation,
            progress: (WorkProgress) throws -> Void
        ) throws -> Compaction {
            Compaction(before: 0, after: 0, kept: 0)
        }

        func makeReadSession() throws -> any ReadSession { try engine.makeReadSession() }

        func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result { try engine.write(body) }

        func close() throws { try engine.close() }
    }

    @Test func theCommandReceivesEveryErrorsText() async throws {
        try await withClient(of: FailingCopies()) { client, directory in
            let request = DataRequest.backUp(file: directory.file("backup"), replacing: false)
            let error = await #expect(throws: DocumentError.self) {
                _ = try await client.perform(request, input: Chunks()) { _ in }
            }
            #expect(error == DocumentError(.unknown, "the copy failed in an unexpected way"))
        }
    }

    @Test func anErrorInAPipeIsReportedBeforeItsWriterHasEnded() async throws {
        try await withClient(of: MemoryEngine()) { client, _ in
            let pipe = Pipe()
            try pipe.fileHandleForWriting.write(contentsOf: Data("nonsense\n".utf8))
            let input = FileChunks(pipe.fileHandleForReading)
            let error = await #expect(throws: DocumentError.self) {
                _ = try await client.perform(.importDocuments(clearing: false), input: input) { _ in }
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.hasPrefix("line 1, column ") == true)
            try pipe.fileHandleForWriting.close()
        }
    }

    /// An input that fails once its reader is cancelled.
    private struct CancelledInput: AsyncSequence, AsyncIteratorProtocol, Sendable {
        typealias Failure = any Error

        var hasBegun = false

        mutating func next() async throws -> [UInt8]? {
            if !hasBegun {
                hasBegun = true
                return Array("nonsense\n".utf8)
            }
            while !Task.isCancelled { await Task.yield() }
            throw DocumentError(.unavailable, "the copy ended")
        }

        func makeAsyncIterator() -> CancelledInput { self }
    }

    @Test func theHostsErrorIsReportedThoughReadingTheInputFailsForIt() async throws {
        try await withClient(of: MemoryEngine()) { client, _ in
            let error = await #expect(throws: DocumentError.self) {
                _ = try await client.perform(.importDocuments(clearing: false), input: CancelledInput()) { _ in }
            }
            #expect(error?.code == .invalidArgument)
        }
    }

    /// Passes a client of a host with such a store, and the host's directory.
    private func withClient(
        of engine: any StorageEngine, _ body: (ControlClient, TemporaryDirectory) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        try store.start()
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let server = ControlServer(
            directory: directory.path,
            topics: [DataTopic(service: DataService(store, database: DatabaseID(project: "p")))],
            group: EventLoopGroupProvider.singleton.eventLoopGroup, logger: logger, libraryLogger: logger)
        let services = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
        async let serving: Void = services.run()
        var client: ControlClient?
        while client == nil {
            client = try await ControlClient(directory: directory.path)
            await Task.yield()
        }
        try await body(try #require(client), directory)
        await services.triggerGracefulShutdown()
        try await serving
        await store.shutdown()
    }
}
