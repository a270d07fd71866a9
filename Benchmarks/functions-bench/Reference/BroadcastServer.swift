import NIOCore
import NIOPosix
import Synchronization

/// The reference of listeners: a bare server that sends the same bytes to all of its connections, in this process.
final class BroadcastServer: Sendable {
    private let channel: any Channel
    private let bytes: ByteBuffer
    private let accepted: Accepted

    private final class Accepted: Sendable {
        let channels = Mutex<[any Channel]>([])
    }

    /// Counts the bytes that arrive.
    private final class Counter: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let count: Mutex<Int> = Mutex(0)

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let size = unwrapInboundIn(data).readableBytes
            count.withLock { $0 += size }
        }
    }

    private init(_ channel: any Channel, _ bytes: ByteBuffer, _ accepted: Accepted) {
        self.channel = channel
        self.bytes = bytes
        self.accepted = accepted
    }

    static func start(_ bytes: ByteBuffer) async throws -> BroadcastServer {
        let accepted = Accepted()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                accepted.channels.withLock { $0.append(channel) }
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return BroadcastServer(channel, bytes, accepted)
    }

    /// - Returns: for each round, the seconds until the last connection had all bytes.
    func measure(connections: Int, rounds: Int) async throws -> [Double] {
        let counter = Counter()
        var clients: [any Channel] = []
        for _ in 0..<connections {
            let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { $0.pipeline.addHandler(counter) }
                .connect(host: "127.0.0.1", port: channel.localAddress?.port ?? 0).get()
            clients.append(client)
        }
        while accepted.channels.withLock({ $0.count }) < connections { try await Task.sleep(for: .milliseconds(1)) }
        var times: [Double] = []
        for _ in 0..<rounds {
            counter.count.withLock { $0 = 0 }
            let start = ContinuousClock.now
            for channel in accepted.channels.withLock({ $0 }) { channel.writeAndFlush(bytes, promise: nil) }
            while counter.count.withLock({ $0 }) < connections * bytes.readableBytes {
                try await Task.sleep(for: .microseconds(200))
            }
            times.append((ContinuousClock.now - start).seconds)
        }
        for client in clients { try await client.close() }
        return times
    }

    func stop() async throws { try await channel.close() }
}
