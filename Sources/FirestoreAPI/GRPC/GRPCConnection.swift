package import NIOCore
import NIOHPACK
import NIOHTTP2

/// An HTTP/2 connection whose streams are calls.
package struct GRPCConnection: Sendable {
    private let service: FirestoreCalls

    package init(_ service: FirestoreCalls) { self.service = service }

    /// Streams that one connection may have open.
    private static let maxStreams = 100
    /// What a client may send before it is read, for each stream.
    private static let window = 1 << 20

    /// Makes the connection one of HTTP/2.
    package func configure(_ channel: any Channel) throws {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: Self.maxStreams),
            HTTP2Setting(parameter: .initialWindowSize, value: Self.window),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 32 * 1024),
        ]
        var streams = NIOHTTP2Handler.StreamConfiguration()
        streams.targetWindowSize = Self.window
        let service = service
        let peer = channel.remoteAddress
        let handler = NIOHTTP2Handler(
            mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: connection,
            streamConfiguration: streams
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(GRPCCallHandler(service, peer: peer))
            }
        }
        try channel.pipeline.syncOperations.addHandlers([handler, ConnectionEnd()])
    }

    /// Closes the connection after an error of its own, and when the host stops.
    private final class ConnectionEnd: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame
        typealias OutboundOut = HTTP2Frame

        /// What calls under way have left when the host stops.
        private static let patience = TimeAmount.seconds(1)

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is ChannelShouldQuiesceEvent {
                // Clients open another connection; streams that go on would hold up the host.
                let frame = HTTP2Frame(
                    streamID: .rootStream,
                    payload: .goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil))
                context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
                let channel = context.channel
                context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
            }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
