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
    private var held: HeldMemory?
    private var address: UInt64 = 0
    private var identify: () -> MemoryBudget.Holder? = { nil }
    /// Since the stream began, in bytes.
    private var written = 0
    private var taken = 0
    /// How much that was at the last look, and when it was.
    private var last = (written: 0, taken: 0, at: NIODeadline.distantPast)

    /// As much isn't counted.
    private static let smallBytes = 4 * 1024
    /// Larger writes are divided, to see how the client takes them.
    static let partBytes = 64 * 1024
    /// In this time, a client takes a part or all that there was.
    static let patience = TimeAmount.seconds(60)

    /// - Parameter budget: the memory of all answers; nil for no bound.
    init(_ budget: MemoryBudget?) { self.budget = budget }

    /// Says whose the stream is. Call before anything is written.
    ///
    /// - Parameters:
    ///   - address: a number that stands for the address of the client.
    ///   - identify: verifies the request's token; nil if it has none that is valid.
    func begin(address: UInt64, identify: @escaping () -> MemoryBudget.Holder?) {
        self.address = address
        self.identify = identify
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        held?.release()
        held = nil
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .data(var frame) = unwrapOutboundIn(data), case .byteBuffer(var bytes) = frame.data,
            bytes.readableBytes > 0
        else { return context.write(data, promise: promise) }
        guard hold(bytes.readableBytes) else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return reset(.enhanceYourCalm)
        }
        while bytes.readableBytes > Self.partBytes, let part = bytes.readSlice(length: Self.partBytes) {
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
        promise.futureResult.assumeIsolated().whenComplete { _ in self.took(count) }
        context.write(wrapOutboundOut(.data(frame)), promise: promise)
    }

    private func hold(_ count: Int) -> Bool {
        let unsent = written + count - taken
        if unsent > Self.smallBytes, let budget {
            var held = self.held ?? HeldMemory(budget, address: address)
            let isTaken = held.take(max(unsent - held.bytes, 0), identify: identify)
            self.held = held
            guard isTaken else { return false }
        }
        written += count
        return true
    }

    private func took(_ count: Int) {
        taken += count
        _ = held?.adjust(to: written - taken) { nil }
    }

    /// Looks whether the client takes what it is sent. To be called every few seconds to minutes.
    func look(now: NIODeadline) {
        guard now - last.at >= Self.patience else { return }
        // What was written since the last look may be on its way.
        let isSlow = taken < last.written && taken - last.taken < Self.partBytes
        last = (written, taken, now)
        if isSlow { reset(.cancel) }
    }

    private func reset(_ error: HTTP2ErrorCode) {
        guard let context else { return }
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(.rstStream(error))).whenComplete { _ in channel.close(promise: nil) }
    }
}
