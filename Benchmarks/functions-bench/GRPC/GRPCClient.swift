import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix

/// An HTTP/2 connection of a client, whose streams are gRPC calls. Must be used on its event loop.
final class GRPCClient {
    let channel: any Channel
    private let multiplexer: NIOHTTP2Handler.StreamMultiplexer
    private let authority: String

    private init(_ channel: any Channel, _ multiplexer: NIOHTTP2Handler.StreamMultiplexer, port: Int) {
        self.channel = channel
        self.multiplexer = multiplexer
        authority = "127.0.0.1:\(port)"
    }

    static func connect(to port: Int, on loop: any EventLoop) async throws -> NIOLoopBound<GRPCClient> {
        try await ClientBootstrap(group: loop)
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let multiplexer = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
                        mode: .client, connectionConfiguration: .init(), streamConfiguration: .init()
                    ) { $0.eventLoop.makeSucceededVoidFuture() }
                    return NIOLoopBound(GRPCClient(channel, multiplexer, port: port), eventLoop: channel.eventLoop)
                }
            }
    }

    /// Begins a call.
    ///
    /// - Parameter isOpen: whether further messages follow.
    func call(
        _ method: String, _ message: ByteBuffer?, isOpen: Bool = false, _ stream: GRPCClientStream
    ) {
        let headers = HPACKHeaders([
            (":method", "POST"), (":scheme", "http"), (":path", "/google.firestore.v1.Firestore/\(method)"),
            (":authority", authority), ("te", "trailers"), ("content-type", "application/grpc"),
            ("authorization", "Bearer owner"),
            ("google-cloud-resource-prefix", "projects/\(HostProcess.project)/databases/(default)"),
        ])
        let bound = NIOLoopBound(stream, eventLoop: channel.eventLoop)
        let promise = channel.eventLoop.makePromise(of: (any Channel).self)
        multiplexer.createStreamChannel(promise: promise) { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(bound.value)
            }
        }
        promise.futureResult.assumeIsolated().whenComplete { result in
            switch result {
            case .failure(let error): bound.value.end("\(error)")
            case .success(let stream):
                stream.write(HTTP2Frame.FramePayload.headers(.init(headers: headers)), promise: nil)
                if let message {
                    let data = HTTP2Frame.FramePayload.Data(data: .byteBuffer(message), endStream: !isOpen)
                    stream.writeAndFlush(HTTP2Frame.FramePayload.data(data), promise: nil)
                } else {
                    stream.flush()
                }
            }
        }
    }
}

/// The messages that a call receives.
final class GRPCClientStream: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let onMessage: (ByteBuffer) -> Void
    /// Called once, with the reason of a failure.
    private let onEnd: (String?) -> Void
    private var buffer = ByteBuffer()
    private var isEnded = false
    private var context: ChannelHandlerContext?

    init(onMessage: @escaping (ByteBuffer) -> Void, onEnd: @escaping (String?) -> Void) {
        self.onMessage = onMessage
        self.onEnd = onEnd
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func send(_ message: ByteBuffer) {
        context?.writeAndFlush(wrapOutboundOut(.data(.init(data: .byteBuffer(message)))), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .data(let data):
            guard case .byteBuffer(var bytes) = data.data else { return }
            if buffer.readableBytes == 0 { buffer = bytes } else { buffer.writeBuffer(&bytes) }
            while let length: UInt32 = buffer.getInteger(at: buffer.readerIndex + 1),
                buffer.readableBytes >= 5 + Int(length)
            {
                buffer.moveReaderIndex(forwardBy: 5)
                if let message = buffer.readSlice(length: Int(length)) { onMessage(message) }
            }
        case .headers(let headers):
            guard let status = headers.headers.first(name: "grpc-status") else { return }
            end(status == "0" ? nil : "status \(status): \(headers.headers.first(name: "grpc-message") ?? "")")
        case .rstStream(let code): end("the stream was reset: \(code)")
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { end("\(error)") }

    func channelInactive(context: ChannelHandlerContext) { end("the stream was closed") }

    func end(_ failure: String?) {
        guard !isEnded else { return }
        isEnded = true
        onEnd(failure)
    }
}
