import NIOCore
import NIOEmbedded

/// The socket of a scripted worker: while the worker doesn't read, what the host writes waits here.
///
/// `@unchecked Sendable`: used on the thread of its embedded loop only.
final class ScriptedSocket: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private static let highWaterMark = 65_536

    private(set) var isRead = true
    private var unread: [(bytes: NIOAny, promise: EventLoopPromise<Void>?)] = []
    private(set) var unreadBytes = 0
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isRead else { return context.write(data, promise: promise) }
        unread.append((data, promise))
        unreadBytes += unwrapOutboundIn(data).readableBytes
        if unreadBytes > Self.highWaterMark { setWritable(false) }
    }

    func flush(context: ChannelHandlerContext) { if isRead { context.flush() } }

    func channelInactive(context: ChannelHandlerContext) {
        for write in unread { write.promise?.fail(ChannelError.ioOnClosedChannel) }
        unread = []
        context.fireChannelInactive()
    }

    func stopReading() { isRead = false }

    func readAgain() {
        isRead = true
        for write in unread { context?.write(write.bytes, promise: write.promise) }
        (unread, unreadBytes) = ([], 0)
        context?.flush()
        setWritable(true)
    }

    private func setWritable(_ isWritable: Bool) {
        guard let channel = context?.channel as? EmbeddedChannel, channel.isWritable != isWritable else { return }
        channel.isWritable = isWritable
        context?.fireChannelWritabilityChanged()
    }
}
