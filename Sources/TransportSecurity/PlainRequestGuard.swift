import NIOCore

/// Answers a request that comes without TLS to a port that has it, so that its sender learns what is wrong.
final class PlainRequestGuard: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The type of a record with a handshake message, with which every connection of TLS begins (RFC 8446, section 5.1).
    private static let handshake: UInt8 = 22

    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused, let first = unwrapInboundIn(data).readableBytesView.first else { return }
        if first == Self.handshake {
            context.fireChannelRead(data)
            return context.pipeline.syncOperations.removeHandler(self, promise: nil)
        }
        isRefused = true
        let text = "This port speaks https.\n"
        let answer = ByteBuffer(
            string: "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
                + "Content-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n\(text)")
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(answer)).assumeIsolated().whenComplete { _ in
            // Below the handler of TLS, which would wait for a handshake.
            if channel.isActive { context.close(promise: nil) }
        }
    }
}
