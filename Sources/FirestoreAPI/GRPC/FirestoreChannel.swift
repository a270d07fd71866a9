package import HummingbirdCore
package import Logging
package import NIOCore
import NIOHTTP2
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// A connection of the firestore port: HTTP/1.1 or HTTP/2, told apart by the first bytes, which with TLS are what the client
/// has chosen in the handshake.
package struct FirestoreChannel: ServerChildChannel {
    package struct Value: ServerChildChannelValue {
        package let channel: any Channel
        let connection: EventLoopFuture<Connection>
    }

    enum Connection: Sendable {
        case http1(HTTP1Channel.Value)
        case http2(any Channel)
    }

    private let http1: HTTP1Channel
    private let grpc: GRPCConnection
    private let requestHandlers: RequestHandlers
    private let isSecure: Bool

    /// Makes the handlers of a request over HTTP/2, which work on the parts of HTTP/1.1: first those of the port, then those
    /// of its server.
    package typealias RequestHandlers = @Sendable () -> (port: any ChannelHandler, server: any ChannelHandler)

    package init(
        http1: HTTP1Channel, grpc: GRPCConnection, isSecure: Bool, requestHandlers: @escaping RequestHandlers
    ) {
        self.http1 = http1
        self.grpc = grpc
        self.isSecure = isSecure
        self.requestHandlers = requestHandlers
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            // A connection keeps its buffer, and most requests are small. It grows with what is read.
            try channel.syncOptions?.setOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 512, maximum: 65_536))
            let promise = channel.eventLoop.makePromise(of: Connection.self)
            let detector = ProtocolDetector { isHTTP2 in
                if isHTTP2 {
                    promise.completeWith(
                        Result {
                            try grpc.configure(channel) { try serveRequest(on: $0, logger) }
                            return Connection.http2(channel)
                        })
                } else {
                    http1.setup(channel: channel, logger: logger).map { Connection.http1($0) }.cascade(to: promise)
                }
            } onClose: {
                promise.fail(ChannelError.eof)
            }
            try channel.pipeline.syncOperations.addHandler(detector)
            return Value(channel: channel, connection: promise.futureResult)
        }
    }

    /// Serves a stream of HTTP/2 as a connection with one request.
    private func serveRequest(on stream: any Channel, _ logger: Logger) throws {
        let handlers = requestHandlers()
        try stream.pipeline.syncOperations.addHandlers([
            HTTP2FramePayloadToHTTP1ServerCodec(), handlers.port, HTTP1ToHTTPServerCodec(secure: isSecure),
            handlers.server,
        ])
        let value = try HTTP1Channel.Value(wrappingChannelSynchronously: stream)
        Task { [http1] in await http1.handle(value: value, logger: logger) }
    }

    package func handle(value: Value, logger: Logger) async {
        // A connection that closes before its first bytes has nothing to be handled.
        guard let connection = try? await value.connection.get() else { return }
        switch connection {
        case .http1(let channel): await http1.handle(value: channel, logger: logger)
        case .http2(let channel): try? await channel.closeFuture.get()
        }
    }
}

/// Holds a connection's first bytes until they tell which protocol it speaks.
final class ProtocolDetector: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The preface of HTTP/2 (RFC 9113, section 3.4). No request of HTTP/1.1 begins so.
    private static let preface = Array("PRI * HTTP/2.0".utf8)
    /// A client that sends nothing is disconnected.
    private static let patience = TimeAmount.seconds(30)

    private let onDetection: (_ isHTTP2: Bool) -> Void
    private let onClose: () -> Void
    private var held: ByteBuffer?
    private var timeout: Scheduled<Void>?
    private var isDetected = false

    init(onDetection: @escaping (_ isHTTP2: Bool) -> Void, onClose: @escaping () -> Void) {
        self.onDetection = onDetection
        self.onClose = onClose
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timeout = context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if held == nil { held = bytes } else { held?.writeBuffer(&bytes) }
        guard !isDetected, let held else { return }
        let start = held.readableBytesView.prefix(Self.preface.count)
        let fits = Self.preface.starts(with: start)
        guard !fits || start.count == Self.preface.count else { return }
        isDetected = true
        timeout?.cancel()
        onDetection(fits)
        self.held = nil
        context.fireChannelRead(wrapInboundOut(held))
        context.fireChannelReadComplete()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A client that leaves now has nothing to be answered, and a host that stops answers no new one.
        if !isDetected {
            if case .inputClosed? = event as? ChannelEvent { return context.close(promise: nil) }
            if event is ChannelShouldQuiesceEvent { return context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        timeout?.cancel()
        if !isDetected { onClose() }
        context.fireChannelInactive()
    }
}
