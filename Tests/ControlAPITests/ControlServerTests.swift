import ControlAPI
import ControlProtocol
import Foundation
import HostTesting
import Hummingbird
import Logging
import ServiceLifecycle
import TestSupport
import Testing

@Suite(.endsHangs) struct ControlServerTests {
    private let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

    @Test func aHostThatListensHasItsSocket() async throws {
        let directory = try TemporaryDirectory()
        let (listening, continuation) = AsyncStream.makeStream(of: Void.self)
        let server = ControlServer(
            directory: directory.path, topics: [], group: EventLoopGroupProvider.singleton.eventLoopGroup,
            logger: quiet, libraryLogger: quiet, onListening: { continuation.yield() })
        let services = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: quiet))
        async let serving: Void = services.run()
        for await _ in listening { break }
        #expect(try await ControlClient.isListening(directory.path))
        await services.triggerGracefulShutdown()
        try await serving
    }

    /// The host serves all the same.
    @Test func theLogSaysInASentenceWhyCommandsCannotReachTheHost() async throws {
        let directory = try TemporaryDirectory()
        let socket = directory.file("control.sock")
        try FileManager.default.createDirectory(atPath: socket, withIntermediateDirectories: false)
        let log = LogLines()
        let (listening, continuation) = AsyncStream.makeStream(of: Void.self)
        let server = ControlServer(
            directory: directory.path, topics: [], group: EventLoopGroupProvider.singleton.eventLoopGroup,
            logger: log.logger, libraryLogger: quiet, onListening: { continuation.yield() })
        let services = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: quiet))
        async let serving: Void = services.run()
        for await _ in listening { break }
        await services.triggerGracefulShutdown()
        try await serving
        #expect(
            log.all == [
                "the control socket failed; commands can't reach this host error=\(socket) isn't a socket; remove it, "
                    + "and restart the host socket=\(socket)"
            ])
    }
}
