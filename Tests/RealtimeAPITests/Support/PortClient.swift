import NIOCore
import NIOPosix

/// A client of the port: bytes as they are on the wire.
actor PortClient {
    private let channel: any Channel
    private var incoming: AsyncStream<ByteBuffer>.Iterator
    private var buffer = ByteBuffer()
    private(set) var isClosed = false

    struct Closed: Error {}

    private final class Collector: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        let continuation: AsyncStream<ByteBuffer>.Continuation

        init(_ continuation: AsyncStream<ByteBuffer>.Continuation) { self.continuation = continuation }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { continuation.yield(unwrapInboundIn(data)) }

        func channelInactive(context: ChannelHandlerContext) { continuation.finish() }
    }

    /// - Parameter isReading: whether the client takes what it is sent.
    init(port: Int, isReading: Bool = true) async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: isReading)
            .channelInitializer { channel in channel.pipeline.addHandler(Collector(continuation)) }
            .connect(host: "127.0.0.1", port: port).get()
        incoming = stream.makeAsyncIterator()
    }

    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }

    func send(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    func close() async throws { try await channel.close() }

    /// Takes some of what has come, for a client that doesn't read by itself.
    ///
    /// - Returns: the bytes that were taken so far and not used.
    func readSome() async throws -> Int {
        channel.read()
        try await more()
        return buffer.readableBytes
    }

    func startReading() async throws { try await channel.setOption(.autoRead, value: true).get() }

    func stopReading() async throws { try await channel.setOption(.autoRead, value: false).get() }

    private func more() async throws {
        var incoming = incoming
        guard var bytes = await incoming.next(isolation: #isolation) else {
            isClosed = true
            throw Closed()
        }
        self.incoming = incoming
        buffer.writeBuffer(&bytes)
    }

    private func take(_ count: Int) async throws -> [UInt8] {
        while buffer.readableBytes < count { try await more() }
        return buffer.readBytes(length: count) ?? []
    }

    /// The text up to and with an end.
    func text(through end: String) async throws -> String {
        let end = Array(end.utf8)
        while true {
            if let range = buffer.readableBytesView.firstRange(of: end) {
                let count = range.upperBound - buffer.readerIndex
                return String(decoding: buffer.readBytes(length: count) ?? [], as: UTF8.self)
            }
            try await more()
        }
    }

    /// Waits for the end of the connection.
    func waitForEnd() async throws {
        do { while true { try await more() } } catch is Closed {}
    }

    // MARK: HTTP

    struct Answer: Sendable {
        var head: String
        var body: String

        var status: Int { Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0 }

        func header(_ name: String) -> String? {
            head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
                .map { String($0.drop { $0 != ":" }.dropFirst().drop { $0 == " " }) }
        }
    }

    func answer() async throws -> Answer {
        var answer = Answer(head: try await text(through: "\r\n\r\n"), body: "")
        if let length = answer.header("Content-Length").flatMap({ Int($0) }) {
            answer.body = String(decoding: try await take(length), as: UTF8.self)
        } else if answer.header("Transfer-Encoding") == "chunked" {
            var body: [UInt8] = []
            while true {
                let size = Int(try await text(through: "\r\n").dropLast(), radix: 16) ?? 0
                body += try await take(size)
                _ = try await text(through: "\r\n")
                if size == 0 { break }
            }
            answer.body = String(decoding: body, as: UTF8.self)
        }
        return answer
    }

    /// Sends a request and waits for its answer.
    func ask(_ method: String, _ uri: String, _ headers: [String] = [], body: String? = nil) async throws -> Answer {
        let length = body.map { ["Content-Length: \($0.utf8.count)"] } ?? []
        let head = (["\(method) \(uri) HTTP/1.1", "Host: h"] + headers + length).joined(separator: "\r\n")
        try await send(head + "\r\n\r\n" + (body ?? ""))
        return try await answer()
    }

    // MARK: WebSocket

    /// Makes the connection a WebSocket.
    func upgrade(_ query: String = "v=5&ns=n", headers: [String] = []) async throws -> String {
        try await send(
            "GET /.ws?\(query) HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + headers.map { $0 + "\r\n" }.joined()
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
        return try await text(through: "\r\n\r\n")
    }

    func sendFrame(_ text: String, opcode: UInt8 = 1, isLast: Bool = true) async throws {
        try await send(Self.frame(Array(text.utf8), opcode: opcode, isLast: isLast))
    }

    static func frame(_ content: [UInt8], opcode: UInt8 = 1, isLast: Bool = true) -> [UInt8] {
        var frame: [UInt8] = [(isLast ? 0x80 : 0) | opcode]
        switch content.count {
        case ..<126: frame.append(0x80 | UInt8(content.count))
        case ...0xFFFF: frame += [0x80 | 126, UInt8(content.count >> 8), UInt8(content.count & 255)]
        default:
            frame.append(0x80 | 127)
            frame += (0..<8).reversed().map { UInt8(truncatingIfNeeded: content.count >> ($0 * 8)) }
        }
        return frame + [0, 0, 0, 0] + content
    }

    /// The next frame's opcode and text.
    func frame() async throws -> (opcode: UInt8, text: String) {
        let head = try await take(2)
        var length = Int(head[1])
        if length == 126 { length = try await take(2).reduce(0) { $0 << 8 | Int($1) } }
        if length == 127 { length = try await take(8).reduce(0) { $0 << 8 | Int($1) } }
        return (head[0] & 15, String(decoding: try await take(length), as: UTF8.self))
    }

    /// The next message, of which pieces are joined.
    func message() async throws -> String {
        let text = try await frame().text
        guard text.utf8.count <= 6, let count = Int(text) else { return text }
        var message = ""
        for _ in 0..<count { message += try await frame().text }
        return message
    }

    /// Sends a request in pieces if it is long, and returns all messages up to its answer.
    func request(_ number: Int, _ action: String, _ body: String) async throws -> [String] {
        try await say(#"{"t":"d","d":{"r":\#(number),"a":"\#(action)","b":\#(body)}}"#)
        var messages: [String] = []
        while true {
            let message = try await message()
            messages.append(message)
            if message.hasPrefix(#"{"t":"d","d":{"r":\#(number),"#) { return messages }
        }
    }

    func say(_ text: String) async throws {
        let units = Array(text.utf8)
        guard units.count > 16_384 else { return try await sendFrame(text) }
        let pieces = stride(from: 0, to: units.count, by: 16_384).map { units[$0..<min($0 + 16_384, units.count)] }
        try await sendFrame("\(pieces.count)")
        for piece in pieces { try await send(Self.frame(Array(piece))) }
    }
}
