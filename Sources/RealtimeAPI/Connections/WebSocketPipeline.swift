import NIOCore
import NIOHTTP1
import NIOWebSocket

/// The handlers of a connection.
enum WebSocketPipeline {
    private typealias Decoder = ByteToMessageHandler<HTTPRequestDecoder>

    /// Serves HTTP.
    static func serveHTTP(on channel: any Channel, _ handler: RESTConnection) throws {
        var limits = NIOHTTPDecoderLimitConfiguration()
        // Two tokens and some cookies fit.
        limits.maxHeaderListSize = 80 * 1024
        var encoding = HTTPResponseEncoder.Configuration()
        // The connection knows which answers have a body. The encoder doesn't: it would write a last chunk behind the
        // head of an answer to HEAD, and the client would take that for the next answer.
        encoding.automaticallySetFramingHeaders = false
        try channel.pipeline.syncOperations.addHandlers([
            HTTPResponseEncoder(configuration: encoding),
            // What follows an upgrade is kept until there is one.
            Decoder(
                HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits),
                maximumBufferSize: 256 * 1024), handler,
        ])
    }

    /// Serves a WebSocket instead. Bytes behind the request are its first frames.
    static func replaceHTTP(in context: ChannelHandlerContext, with handler: WebSocketHandler) throws {
        let pipeline = context.pipeline.syncOperations
        let decoder = try pipeline.context(handlerType: Decoder.self)
        pipeline.removeHandler(try pipeline.handler(type: HTTPResponseEncoder.self), promise: nil)
        let frames = ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: WebSocketHandler.maxFrameBytes))
        try pipeline.addHandlers(
            [WebSocketHandler.ByteCounter(handler), frames, handler], position: .after(decoder.handler))
        if !handler.answersPings {
            try pipeline.addHandler(WebSocketHandler.SendObserver(handler), position: .after(handler))
        }
        pipeline.removeHandler(context: context, promise: nil)
        pipeline.removeHandler(context: decoder, promise: nil)
    }
}
