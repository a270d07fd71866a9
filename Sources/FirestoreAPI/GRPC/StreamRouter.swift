import NIOCore
import NIOHPACK
import NIOHTTP2

/// Tells by its headers whether a stream of HTTP/2 is a call of gRPC or any other request, as the web's and those of REST,
/// which clients send over HTTP/2 once a handshake of TLS offers it.
final class StreamRouter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame.FramePayload

    private let service: FirestoreCalls
    private let peer: SocketAddress?
    private let serveRequest: @Sendable (any Channel) throws -> Void

    /// - Parameter serveRequest: adds the handlers of a stream with any other request.
    init(
        _ service: FirestoreCalls, peer: SocketAddress?, serveRequest: @escaping @Sendable (any Channel) throws -> Void
    ) {
        self.service = service
        self.peer = peer
        self.serveRequest = serveRequest
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // A stream begins with its headers.
        guard case .headers(let frame) = unwrapInboundIn(data) else { return }
        do {
            if Self.isCall(frame.headers) {
                try context.pipeline.syncOperations.addHandler(GRPCCallHandler(service, peer: peer))
            } else {
                try serveRequest(context.channel)
            }
        } catch {
            return context.close(promise: nil)
        }
        context.fireChannelRead(data)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    static func isCall(_ headers: HPACKHeaders) -> Bool {
        guard let type = headers.first(name: "content-type")?.lowercased() else { return false }
        return type.hasPrefix("application/grpc") && !type.hasPrefix("application/grpc-web")
    }
}
