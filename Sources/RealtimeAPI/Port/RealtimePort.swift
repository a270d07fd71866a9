package import NIOCore
package import NIOPosix
import PortConnections
import ServiceLifecycle

/// The database port: WebSockets, long polling and REST.
///
/// All are served by NIO's own pipeline. A connection stays on one event loop, where its session is a state machine; no request
/// or push starts a task.
package final class RealtimePort: Service {
    let loops: [RealtimeLoop]
    private let channel: any Channel
    private let grace: TimeAmount

    private static let sweepInterval = TimeAmount.seconds(5)

    private init(loops: [RealtimeLoop], channel: any Channel, grace: TimeAmount) {
        self.loops = loops
        self.channel = channel
        self.grace = grace
    }

    /// The metrics of the port's clients in the Prometheus format.
    package func metricsText() async -> String {
        var sum = RealtimeFigures()
        for loop in loops {
            // A loop that has shut down has no clients.
            if let figures = try? await loop.eventLoop.submit({ loop.figures }).get() { sum += figures }
        }
        return sum.text + (loops.first?.parts.listenMemory?.listenMetrics ?? "")
    }

    /// The number of the port.
    package var port: Int { channel.localAddress?.port ?? 0 }

    /// Binds the port. Connections are accepted at once.
    ///
    /// - Parameters:
    ///   - port: 0 for any that is free.
    ///   - grace: how long requests under way have to end once the port stops.
    ///   - watch: prepares the port's own channel.
    ///   - secure: adds TLS to a connection.
    /// - Throws: an `IOError` if the port can't be bound.
    package static func start(
        _ parts: RealtimeParts, group: MultiThreadedEventLoopGroup, host: String, port: Int,
        grace: TimeAmount = .seconds(5),
        watch: @escaping @Sendable (any Channel) throws -> Void = { _ in },
        secure: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) async throws -> RealtimePort {
        let loops = group.makeIterator().map { RealtimeLoop(eventLoop: $0, parts: parts) }
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in channel.eventLoop.makeCompletedFuture { try watch(channel) } }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            // An idle connection keeps its buffer, and most messages are small. It grows with what is read.
            .childChannelOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 512, maximum: 65_536)
            )
            // The loop's other connections are served before more of a large body is read.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let loop = loops.first(where: { $0.eventLoop === channel.eventLoop }) else {
                        throw ChannelError.inappropriateOperationForState
                    }
                    channel.boundUnsentInSystem()
                    try secure(channel)
                    try WebSocketPipeline.serveHTTP(on: channel, RESTConnection(loop: loop))
                }
            }
            .bind(host: host, port: port).get()
        return RealtimePort(loops: loops, channel: channel, grace: grace)
    }

    /// Ends what has a server's key that was revoked.
    package func checkTokens() {
        for loop in loops { loop.eventLoop.execute { loop.sweep(now: loop.eventLoop.now) } }
    }

    /// Serves until the graceful shutdown begins, then accepts no more connections and ends those there are.
    package func run() async throws {
        let sweeps = loops.map { loop in
            loop.eventLoop.scheduleRepeatedTask(
                initialDelay: Self.sweepInterval, delay: Self.sweepInterval
            ) { _ in loop.sweep(now: loop.eventLoop.now) }
        }
        try await gracefulShutdown()
        for sweep in sweeps { sweep.cancel() }
        try await stop()
    }

    /// Stops without a service group. The databases must still be there: what is registered for the ends of sessions happens
    /// now.
    package func stop() async throws {
        try? await channel.close()
        for loop in loops { try await loop.eventLoop.submit { loop.beginStopping() }.get() }
        try await wait { try await hasConnections() }
        for loop in loops { try await loop.eventLoop.submit { loop.closeAll() }.get() }
        try await wait { loops.contains { !$0.parts.sessions.isEmpty } }
    }

    /// Waits as long as a condition holds, up to the grace period.
    private func wait(while condition: () async throws -> Bool) async throws {
        let deadline = NIODeadline.now() + grace
        while NIODeadline.now() < deadline, try await condition() { try await Task.sleep(for: .milliseconds(20)) }
    }

    private func hasConnections() async throws -> Bool {
        for loop in loops where try await loop.eventLoop.submit({ loop.connectionCount > 0 }).get() { return true }
        return false
    }
}
