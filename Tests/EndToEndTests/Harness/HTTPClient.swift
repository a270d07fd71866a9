import NIOCore
import NIOHTTP1
import NIOPosix

/// An HTTP client that opens a connection for each request, reports every error and never retries.
struct HTTPClient: Sendable {
    let port: Int
    var host = "127.0.0.1"

    /// Sends a request and waits for the complete response.
    /// - Throws: if the connection is refused, or if it ends or stalls before the response is complete.
    func send(
        _ method: String, _ path: String, headers: [String: String] = [:], _ body: String = ""
    ) async throws -> HTTPAnswer {
        try await send(method, path, headers: headers, bytes: Array(body.utf8))
    }

    func send(
        _ method: String, _ path: String, headers: [String: String] = [:], bytes: [UInt8]
    ) async throws -> HTTPAnswer {
        try await open(method, path, headers: headers, bytes: bytes).whole()
    }

    /// Sends a request and returns once the response's head has arrived.
    func open(
        _ method: String, _ path: String, headers: [String: String] = [:], bytes: [UInt8] = []
    ) async throws -> OpenAnswer {
        var all = HTTPHeaders([("Host", "\(host):\(port)"), ("Connection", "close")])
        for (name, value) in headers { all.replaceOrAdd(name: name, value: value) }
        if !bytes.isEmpty || method == "POST" { all.replaceOrAdd(name: "Content-Length", value: "\(bytes.count)") }
        let (parts, continuation) = AsyncThrowingStream<HTTPClientResponsePart, any Error>.makeStream()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(PartCollector(continuation))
                }
            }
            .connect(host: host, port: port).get()
        let head = HTTPRequestHead(version: .http1_1, method: .init(rawValue: method), uri: path, headers: all)
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        if !bytes.isEmpty { channel.write(HTTPClientRequestPart.body(.byteBuffer(.init(bytes: bytes))), promise: nil) }
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        return try await OpenAnswer(channel: channel, parts: parts)
    }
}

/// A response whose body is still being received.
struct OpenAnswer {
    let status: Int
    let headers: HTTPHeaders
    private let channel: any Channel
    private var parts: AsyncThrowingStream<HTTPClientResponsePart, any Error>.Iterator

    fileprivate init(
        channel: any Channel, parts: AsyncThrowingStream<HTTPClientResponsePart, any Error>
    ) async throws {
        self.channel = channel
        var iterator = parts.makeAsyncIterator()
        guard case .head(let head)? = try await iterator.next() else { throw BrokenOff() }
        self.parts = iterator
        status = Int(head.status.code)
        headers = head.headers
    }

    /// The connection ended before the response was complete.
    struct BrokenOff: Error {}

    /// The next chunk of the body; nil at its end.
    mutating func next() async throws -> [UInt8]? {
        switch try await parts.next() {
        case .body(let bytes): return Array(bytes.readableBytesView)
        case .end: return nil
        case .head, nil: throw BrokenOff()
        }
    }

    /// Reads until the received body contains the text.
    mutating func read(until text: String) async throws -> String {
        var body = ""
        while !body.contains(text), let piece = try await next() { body += String(decoding: piece, as: UTF8.self) }
        return body
    }

    consuming func whole() async throws -> HTTPAnswer {
        var body: [UInt8] = []
        while let piece = try await next() { body += piece }
        channel.close(promise: nil)
        return HTTPAnswer(status: status, headers: headers, body: body)
    }

    /// Closes the connection.
    func close() async throws { try await channel.close() }
}

/// Hands over what comes, and ends with an error if nothing comes for so long that something hangs.
private final class PartCollector: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private static let patience = TimeAmount.minutes(10)

    private let parts: AsyncThrowingStream<HTTPClientResponsePart, any Error>.Continuation
    private var patience: Scheduled<Void>?

    init(_ parts: AsyncThrowingStream<HTTPClientResponsePart, any Error>.Continuation) { self.parts = parts }

    func channelActive(context: ChannelHandlerContext) { waitFurther(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        waitFurther(context)
        let part = unwrapInboundIn(data)
        parts.yield(part)
        if case .end = part { finish(nil, context) }
    }

    func channelInactive(context: ChannelHandlerContext) { finish(OpenAnswer.BrokenOff(), context) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { finish(error, context) }

    private func waitFurther(_ context: ChannelHandlerContext) {
        patience?.cancel()
        let (parts, channel) = (parts, context.channel)
        patience = context.eventLoop.scheduleTask(in: Self.patience) {
            parts.finish(throwing: Bound.Exceeded(description: "nothing was received for \(Self.patience)"))
            channel.close(promise: nil)
        }
    }

    private func finish(_ error: (any Error)?, _ context: ChannelHandlerContext) {
        patience?.cancel()
        parts.finish(throwing: error)
        context.close(promise: nil)
    }
}
