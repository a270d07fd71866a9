import Workers
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// The functions port: one server over all gateway loops.
package final class Gateway: Service {
    package let loops: [GatewayLoop]
    private let channel: any Channel
    private let grace: TimeAmount
    private let services: InvocationServices

    private static let staleCheckInterval = TimeAmount.seconds(5)

    private init(
        loops: [GatewayLoop], channel: any Channel, grace: TimeAmount, services: InvocationServices
    ) {
        self.loops = loops
        self.channel = channel
        self.grace = grace
        self.services = services
    }

    /// The port that the gateway listens on.
    package var port: Int { channel.localAddress?.port ?? 0 }

    static func start(
        group: MultiThreadedEventLoopGroup, loops: [GatewayLoop], services: InvocationServices, host: String,
        port: Int, grace: TimeAmount, watch: @escaping @Sendable (any Channel) throws -> Void,
        secure: @escaping @Sendable (any Channel) throws -> Void
    ) async throws -> Gateway {
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in channel.eventLoop.makeCompletedFuture { try watch(channel) } }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            // A connection that pauses has read no more than that. Most requests are read at once anyway.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let loop = loops.first(where: { $0.eventLoop === channel.eventLoop }) else {
                        throw ChannelError.inappropriateOperationForState
                    }
                    try secure(channel)
                    try loop.serve(channel)
                }
            }
            .bind(host: host, port: port).get()
        return Gateway(loops: loops, channel: channel, grace: grace, services: services)
    }

    /// Serves until the graceful shutdown begins, then accepts neither connections nor work. Running invocations have
    /// the grace period to end, and clients have it to take their answers; invocations left after it are answered
    /// UNAVAILABLE.
    package func run() async throws {
        let checks = loops.map { loop in
            loop.eventLoop.scheduleRepeatedTask(
                initialDelay: Self.staleCheckInterval, delay: Self.staleCheckInterval
            ) { _ in loop.closeStaleConnections() }
        }
        try await gracefulShutdown()
        for check in checks { check.cancel() }
        services.beginStopping()
        try? await channel.close()
        for loop in loops { try await loop.eventLoop.submit { loop.beginStopping() }.get() }
        let deadline = NIODeadline.now() + grace
        while NIODeadline.now() < deadline, try await hasWork() { try await Task.sleep(for: .milliseconds(20)) }
        for loop in loops {
            try await loop.eventLoop.submit { loop.invocations.failAll(.stopping) }.get()
            // Answers that were just written are sent before the connections close.
            try await loop.eventLoop.scheduleTask(in: .milliseconds(50)) { loop.closeAll() }.futureResult.get()
        }
    }

    private func hasWork() async throws -> Bool {
        for loop in loops {
            if try await loop.eventLoop.submit({ loop.isBusy }).get() { return true }
        }
        return false
    }
}
