import NIOCore
import NIOPosix

/// The connections that a bare server sends to, on an event loop of their own.
final class BroadcastAudience: Sendable {
    /// The bytes that are still to come, and who waits for the last of them.
    private final class Arrivals {
        var missing = 0
        var last: EventLoopPromise<NIODeadline>?
    }

    private final class Receiver: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let arrivals: Arrivals

        init(_ arrivals: Arrivals) { self.arrivals = arrivals }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            arrivals.missing -= unwrapInboundIn(data).readableBytes
            guard arrivals.missing == 0 else { return }
            arrivals.last?.succeed(.now())
            arrivals.last = nil
        }
    }

    private let group: MultiThreadedEventLoopGroup
    private let loop: any EventLoop
    private let arrivals: NIOLoopBound<Arrivals>
    private let channels: [any Channel]
    private let size: Int

    /// - Parameter size: the bytes of a message.
    static func with<Value>(
        _ count: Int, at port: Int, size: Int, _ body: (BroadcastAudience) async throws -> Value
    ) async throws -> Value {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let audience = try await BroadcastAudience(count, port, size, group)
            let value = try await body(audience)
            for channel in audience.channels { channel.close(promise: nil) }
            try await group.shutdownGracefully()
            return value
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    private init(_ count: Int, _ port: Int, _ size: Int, _ group: MultiThreadedEventLoopGroup) async throws {
        let loop = group.next()
        let ready = loop.makePromise(of: NIODeadline.self)
        let arrivals = try await loop.submit {
            // As those of our own host.
            OwnProcess.makeThreadYield()
            let arrivals = Arrivals()
            // The server greets each connection with a byte.
            arrivals.missing = count
            arrivals.last = ready
            return NIOLoopBound(arrivals, eventLoop: loop)
        }.get()
        var channels: [any Channel] = []
        for _ in 0..<count {
            let channel = try await ClientBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Receiver(arrivals.value))
                    }
                }
                .connect(host: "127.0.0.1", port: port).get()
            channels.append(channel)
        }
        (self.group, self.loop, self.arrivals, self.channels, self.size) = (group, loop, arrivals, channels, size)
        _ = try await ready.futureResult.get()
    }

    /// - Returns: the seconds until the last connection had a message.
    func round() async throws -> Double {
        let (loop, arrivals, first, total) = (loop, arrivals, channels[0], size * channels.count)
        return try await loop.flatSubmit {
            let last = loop.makePromise(of: NIODeadline.self)
            arrivals.value.missing = total
            arrivals.value.last = last
            let start = NIODeadline.now()
            first.writeAndFlush(ByteBuffer(bytes: [0]), promise: nil)
            return last.futureResult.map { ($0 - start).seconds }
        }.get()
    }
}
