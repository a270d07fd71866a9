import Gateway
package import NIOCore
import NIOEmbedded

/// A client's connection to the gateway.
package final class RingClient {
    private unowned let ring: GatewayRing
    private let channel: EmbeddedChannel
    private let socket = ClientSocket()
    private var isHead = false

    init(_ ring: GatewayRing) throws {
        self.ring = ring
        channel = EmbeddedChannel(loop: ring.loop)
        try channel.pipeline.syncOperations.addHandler(socket)
        try ring.gateway.serve(channel)
        channel.remoteAddress = .loopback
        channel.connect(to: .loopback, promise: nil)
    }

    // MARK: Out

    /// Sends text as it is.
    package func send(_ text: String) { send(ByteBuffer(string: text)) }

    package func send(_ bytes: ByteBuffer) {
        // What isn't HTTP is an error to the gateway, which answers it.
        if channel.isActive { _ = try? channel.writeInbound(bytes) }
        ring.run()
    }

    package func send(
        _ method: String, _ path: String, _ headers: [String: String] = [:], body: ByteBuffer
    ) {
        isHead = method == "HEAD"
        var head = "\(method) \(path) HTTP/1.1\r\n"
        if headers["Host"] == nil { head += "Host: localhost\r\n" }
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
        if body.readableBytes > 0 || method == "POST" { head += "Content-Length: \(body.readableBytes)\r\n" }
        var bytes = ByteBuffer(string: head + "\r\n")
        bytes.writeImmutableBuffer(body)
        send(bytes)
    }

    /// Leaves, without waiting for anything.
    package func hangUp() {
        channel.close(promise: nil)
        ring.run()
    }

    // MARK: In

    /// Whether it takes what the gateway sends.
    package var reads: Bool {
        get { socket.reads }
        set {
            socket.reads = newValue
            ring.run()
        }
    }

    /// Leaves as soon as the gateway writes to it, while the gateway is still writing.
    package func hangUpWhenAnswered() { socket.hangsUpWhenAnswered = true }

    /// The memory that the largest part of what it hasn't taken keeps.
    package var unreadStorage: Int { socket.unreadStorage }

    /// Takes what was sent while it didn't read, and goes on not reading.
    package func readOnce() {
        socket.readOnce()
        ring.run()
    }

    /// Takes so many bytes of what was sent while it didn't read, and goes on not reading.
    package func read(_ bytes: Int) {
        socket.read(bytes)
        ring.run()
    }

    /// All that it has taken.
    package var received: String { String(decoding: socket.received, as: UTF8.self) }

    /// The answer to its first request, as far as it has come; nil before its head is whole.
    package var answer: RingAnswer? { RingAnswer(socket.received, isHead: isHead) }

    /// Whether the gateway has closed the connection.
    package var isClosed: Bool { !channel.isActive }
}

/// The client's end of a socket: takes what is written, or leaves it in the socket's buffer.
package final class ClientSocket: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// Of bytes: a socket that holds more isn't writable.
    private static let highWaterMark = 65_536

    private var context: ChannelHandlerContext?
    private var unread: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []
    package private(set) var received: [UInt8] = []
    var hangsUpWhenAnswered = false
    package var reads = true { didSet { if reads { readOnce() } } }

    package init() {}

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        unread.append((unwrapOutboundIn(data), promise))
        if hangsUpWhenAnswered { return context.close(promise: nil) }
        read(reads ? .max : 0)
    }

    package func flush(context: ChannelHandlerContext) {}

    var unreadStorage: Int { unread.reduce(0) { max($0, $1.bytes.storageCapacity) } }

    func readOnce() { read(.max) }

    package func read(_ count: Int) {
        var left = count
        while let next = unread.first, left > 0 || next.bytes.readableBytes == 0 {
            let taken = unread[0].bytes.readSlice(length: min(left, next.bytes.readableBytes)) ?? ByteBuffer()
            received += taken.readableBytesView
            left -= taken.readableBytes
            if unread[0].bytes.readableBytes == 0 {
                unread.removeFirst()
                next.promise?.succeed()
            }
        }
        reportBuffer()
    }

    /// Lets the channel see what waits, as that of a socket does.
    private func reportBuffer() {
        guard let context, let channel = context.channel as? EmbeddedChannel, channel.isActive else { return }
        context.flush()
        while let _ = try? channel.readOutbound(as: ByteBuffer.self) {}
        for (bytes, _) in unread { context.write(wrapOutboundOut(bytes), promise: nil) }
        let isWritable = unread.reduce(0) { $0 + $1.bytes.readableBytes } <= Self.highWaterMark
        guard channel.isWritable != isWritable else { return }
        channel.isWritable = isWritable
        context.fireChannelWritabilityChanged()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        for (_, promise) in unread { promise?.fail(ChannelError.ioOnClosedChannel) }
        unread = []
        context.fireChannelInactive()
    }
}
