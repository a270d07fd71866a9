import NIOCore
import NIOHTTP2
import Sharing

/// What a stream of HTTP/2 has written and its client hasn't taken: clients decide by their windows how long that is.
///
/// It counts among the answers of all clients, and a stream whose client takes next to nothing ends.
final class StreamOutput: ChannelOutboundHandler {
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let budget: MemoryBudget?
    private var context: ChannelHandlerContext?
    private var identify: () -> MemoryBudget.Holder = { .stranger(0) }
    /// Whose memory it takes, once it has taken some.
    private var holder: MemoryBudget.Holder?
    private var held = 0
    private var pace = ClientPace()
    /// What was written at first, which is little and isn't followed.
    private var smallBytes = 0
    private var isReset = false

    private static let maxSmallBytes = 4 * 1024

    /// - Parameter budget: the memory of all answers; nil for no bound.
    init(_ budget: MemoryBudget?) { self.budget = budget }

    /// - Parameter identify: whose memory the stream takes. Called when it takes some.
    func begin(identify: @escaping () -> MemoryBudget.Holder) { self.identify = identify }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        hold(unsent: 0)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // Frames behind the reset would be errors of the connection.
        guard !isReset else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        guard case .data(var frame) = unwrapOutboundIn(data), case .byteBuffer(var bytes) = frame.data,
            bytes.readableBytes > 0
        else { return context.write(data, promise: promise) }
        guard smallBytes + bytes.readableBytes > Self.maxSmallBytes else {
            smallBytes += bytes.readableBytes
            return context.write(data, promise: promise)
        }
        guard hold(unsent: pace.unsent + bytes.readableBytes) else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return reset()
        }
        // Larger writes are divided, to see how the client takes them.
        while bytes.readableBytes > ClientPace.leastBytes, let part = bytes.readSlice(length: ClientPace.leastBytes) {
            let payload = HTTP2Frame.FramePayload.Data(data: .byteBuffer(part))
            write(payload, part.readableBytes, context.eventLoop.makePromise(), context)
        }
        frame.data = .byteBuffer(bytes)
        write(frame, bytes.readableBytes, promise ?? context.eventLoop.makePromise(), context)
    }

    private func write(
        _ frame: HTTP2Frame.FramePayload.Data, _ count: Int, _ promise: EventLoopPromise<Void>,
        _ context: ChannelHandlerContext
    ) {
        pace.wrote(count)
        promise.futureResult.assumeIsolated().whenComplete { _ in
            self.pace.took(count)
            if self.context != nil { self.hold(unsent: self.pace.unsent) }
        }
        context.write(wrapOutboundOut(.data(frame)), promise: promise)
    }

    /// - Returns: false if the holder may not hold so many bytes; nothing was changed then.
    @discardableResult
    private func hold(unsent: Int) -> Bool {
        let bytes = unsent > Self.maxSmallBytes ? unsent : 0
        guard let budget, bytes != held else { return true }
        let holder = holder ?? identify()
        self.holder = holder
        if bytes < held {
            budget.release(held - bytes, of: holder)
        } else if !budget.take(bytes - held, for: holder) {
            return false
        }
        held = bytes
        return true
    }

    /// Looks whether the client takes what it is sent.
    func look(now: NIODeadline) { if pace.look(now: now) { reset() } }

    /// To clients of gRPC, the status RESOURCE_EXHAUSTED.
    private func reset() {
        guard let context, !isReset else { return }
        isReset = true
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(.rstStream(.enhanceYourCalm))).whenComplete { _ in
            channel.close(promise: nil)
        }
    }
}
