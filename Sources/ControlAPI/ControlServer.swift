import ControlProtocol
import DataDirectory
package import Hummingbird
import HummingbirdCore
package import Logging
package import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// A group of commands that the control socket accepts, such as `deliveries`. Its routes are below the protocol's
/// version.
package protocol ControlTopic: Sendable {
    func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer)
}

/// The host's end of the control socket. Only the data directory's owner can connect to it, and may do everything.
package final class ControlServer: Service {
    /// How long a shutdown waits for responses whose client reads slowly.
    private static let grace: Duration = .seconds(3)

    private let socket: ControlSocket
    private let group: any EventLoopGroup
    private let logger: Logger
    private let libraryLogger: Logger
    private let topics: [any ControlTopic]
    private let onListening: @Sendable () -> Void
    private let stopping = Atomic(false)

    /// - Parameter onListening: called once commands reach this host, and if they won't.
    package init(
        directory: String, topics: [any ControlTopic], group: any EventLoopGroup, logger: Logger, libraryLogger: Logger,
        onListening: @escaping @Sendable () -> Void = {}
    ) {
        self.onListening = onListening
        socket = ControlSocket(directory: directory)
        self.topics = topics
        self.group = group
        self.logger = logger
        self.libraryLogger = libraryLogger
    }

    /// Whether the host is stopping. Long operations check this between two steps.
    var isStopping: Bool { stopping.load(ordering: .relaxed) }

    package func run() async throws {
        let router = Router(context: BasicRequestContext.self)
        let routes = router.group(RouterPath(ControlRequest.version))
        for topic in topics { topic.addRoutes(to: routes, self) }
        let responder = router.buildResponder()
        socket.remove()
        do {
            try await withGracefulShutdownHandler {
                try await socket.withAddress { address in
                    let application = Application(
                        responder: responder,
                        configuration: .init(address: .unixDomainSocket(path: address), serverName: nil),
                        onServerRunning: { [socket, onListening] _ in
                            socket.restrictToOwner()
                            onListening()
                        },
                        eventLoopGroupProvider: .shared(group), logger: libraryLogger)
                    try await withThrowingTaskGroup { tasks in
                        tasks.addTask { try await application.run() }
                        tasks.addTask {
                            try? await gracefulShutdown()
                            try? await Task.sleep(for: Self.grace)
                        }
                        try await tasks.next()
                        tasks.cancelAll()
                    }
                }
            } onGracefulShutdown: { [weak self] in
                self?.stopping.store(true, ordering: .relaxed)
            }
            socket.remove()
        } catch {
            // The host serves without the socket; commands report that they can't reach it.
            logger.warning(
                "the control socket failed; commands can't reach this host",
                metadata: ["socket": "\(socket.path)", "error": "\(reason(error))"])
            onListening()
            try await gracefulShutdown()
        }
    }

    /// Why the socket failed, as a sentence for the operator.
    private func reason(_ error: any Error) -> String {
        switch error {
        case is UnixDomainSocketPathWrongType: "\(socket.path) isn't a socket; remove it, and restart the host"
        case let error as IOError:
            DataDirectoryError.refused(by: error.errnoCode, "a socket for commands can't be made").description
        default: "\(error)"
        }
    }
}
