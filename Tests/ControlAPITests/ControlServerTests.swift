import ControlAPI
import Foundation
import HostTesting
import Hummingbird
import Logging
import ServiceLifecycle
import TestSupport
import Testing

@Suite(.endsHangs) struct ControlServerTests {
    /// The host serves all the same.
    @Test func theLogSaysInASentenceWhyCommandsCannotReachTheHost() async throws {
        let directory = try TemporaryDirectory()
        let socket = directory.file("control.sock")
        try FileManager.default.createDirectory(atPath: socket, withIntermediateDirectories: false)
        let log = LogLines()
        let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let server = ControlServer(
            directory: directory.path, topics: [], group: EventLoopGroupProvider.singleton.eventLoopGroup,
            logger: log.logger, libraryLogger: quiet)
        let services = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: quiet))
        async let serving: Void = services.run()
        while log.all.isEmpty { await Task.yield() }
        await services.triggerGracefulShutdown()
        try await serving
        #expect(
            log.all == [
                "the control socket failed; commands can't reach this host error=\(socket) isn't a socket; remove it, "
                    + "and restart the host socket=\(socket)"
            ])
    }
}
