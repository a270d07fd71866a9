import NIOCore
import NIOHTTP1
import Sharing

/// Counts what a connection has sent of a head that isn't whole, once that is much: the decoder keeps it, and a client
/// may leave the heads of all its connections unfinished.
///
/// Stands before the decoder. What follows the decoder says when a part of a request has come.
final class HeadGauge: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    /// Heads up to this size don't count, whole or not: those of most requests.
    static let smallHead = 8192

    private let memory: MemoryBudget
    private let caller: PortCaller
    /// What has come since the last part of a request.
    private var bytes = 0
    private var held: HeldMemory?
    private var isRefused = false

    /// The error that the handlers behind the decoder see, once and last, if a head has no room. They end the
    /// connection.
    struct Refusal: Error {}

    /// - Parameter memory: what heads count against.
    init(_ memory: MemoryBudget, _ caller: PortCaller) {
        self.memory = memory
        self.caller = caller
    }

    /// The decoder has passed on a part of a request, and keeps nothing before it.
    func partArrived() {
        bytes = 0
        release()
    }

    private func release() {
        held?.release()
        held = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        bytes += unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
        // Mostly a part has arrived by now.
        guard bytes > Self.smallHead, context.channel.isActive else { return }
        var held = held ?? HeldMemory(memory, address: caller.address(context.remoteAddress, HTTPHeaders()))
        // Whose head a proxy forwards is known only once it is whole.
        let isHeld = held.take(bytes - held.bytes) { caller.isProxy(context.remoteAddress) ? .host : nil }
        self.held = held
        guard !isHeld else { return }
        isRefused = true
        context.fireErrorCaught(Refusal())
    }

    func channelInactive(context: ChannelHandlerContext) {
        release()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { release() }
}

extension HTTPRequestHead {
    /// About the bytes of the head.
    var size: Int { headers.reduce(uri.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count } }
}
