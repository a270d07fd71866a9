import NIOCore
import NIOPosix
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A TCP connection for sending what no HTTP client would send.
final class RawConnection: Sendable {
    private let channel: any Channel
    private let received: Received

    /// - Parameter reads: whether to read from the connection. If not, received bytes stay in the network's buffers.
    static func open(port: Int, reads: Bool = true) async throws -> RawConnection {
        let received = Received()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: reads)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ByteCollector(received))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return RawConnection(channel, received)
    }

    private init(_ channel: any Channel, _ received: Received) {
        self.channel = channel
        self.received = received
    }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

    /// The text received so far.
    var text: String { received.text.withLock { $0 } }

    var isOpen: Bool { channel.isActive }

    /// Whether the peer has reset the connection instead of ending it.
    var wasReset: Bool { received.wasReset.withLock { $0 } }

    /// Waits until the received text contains the wanted one.
    func wait(for wanted: String) async throws {
        try await Bound.wait("the answer holds \(wanted); it is \(text)") { self.text.contains(wanted) }
    }

    /// Waits until the peer has closed the connection.
    func waitForEnd() async throws {
        try await Bound.wait("the connection is closed") { !self.isOpen }
    }

    func close() async throws { if isOpen { try await channel.close() } }
}

private final class Received: Sendable {
    let text = Mutex("")
    let wasReset = Mutex(false)
}

private final class ByteCollector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let received: Received

    init(_ received: Received) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        received.text.withLock { $0 += String(buffer: bytes) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if (error as? IOError)?.errnoCode == ECONNRESET { received.wasReset.withLock { $0 = true } }
        context.close(promise: nil)
    }
}
