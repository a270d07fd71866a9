import NIOCore
import NIOPosix

/// A WebSocket of a Realtime Database client, as light as possible. Must be used on its event loop.
///
/// It doesn't decode JSON: the host writes its messages in one form, by whose beginning they are known.
final class RealtimeSocket: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What the host has answered to a request.
    struct Answer {
        var status: String
        var message: ByteBuffer
    }

    private enum State {
        /// Until the HTTP response has ended.
        case upgrading
        /// Until the host's first message.
        case opening
        case open
        case closed
    }

    let channel: any Channel
    /// Called with each push, as the text of the whole message.
    var onPush: (ByteBuffer) -> Void = { _ in }
    /// Called once, with the reason why the socket has ended.
    var onEnd: (String) -> Void = { _ in }
    private let opened: EventLoopPromise<Void>
    private var state = State.upgrading
    private var buffer = ByteBuffer()
    /// A message in pieces, and how many are missing.
    private var pieces: (missing: Int, text: ByteBuffer)?
    /// The requests that aren't answered yet; the host answers in their order.
    private var waiting = CircularBuffer<(number: Int, answer: (Answer) -> Void)>()
    private var requests = 0

    private static let answerStart = Array(#"{"t":"d","d":{"r":"#.utf8)
    private static let pushStart = Array(#"{"t":"d","d":{"a":"#.utf8)
    private static let helloStart = Array(#"{"t":"c","d":{"t":"h""#.utf8)

    private init(_ channel: any Channel, opened: EventLoopPromise<Void>) {
        self.channel = channel
        self.opened = opened
    }

    /// Opens a WebSocket, and returns once the host has greeted.
    static func connect(to port: Int, on loop: any EventLoop) async throws -> NIOLoopBound<RealtimeSocket> {
        let opened = loop.makePromise(of: Void.self)
        do {
            let socket = try await ClientBootstrap(group: loop)
                .channelOption(.socketOption(.tcp_nodelay), value: 1)
                .channelOption(
                    .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 512, maximum: 65_536)
                )
                .connect(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let socket = RealtimeSocket(channel, opened: opened)
                        try channel.pipeline.syncOperations.addHandler(socket)
                        return NIOLoopBound(socket, eventLoop: channel.eventLoop)
                    }
                }
            try await loop.submit { socket.value.requestUpgrade(port) }.get()
            try await opened.futureResult.get()
            return socket
        } catch {
            opened.fail(error)
            throw error
        }
    }

    private func requestUpgrade(_ port: Int) {
        channel.writeAndFlush(
            ByteBuffer(
                string: "GET /.ws?v=5&ns=\(RealtimeREST.namespace) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
                    + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                    + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"), promise: nil)
    }

    // MARK: Requests

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - action: `q`, `p` and so on.
    ///   - body: JSON.
    func request(_ action: String, _ body: String, _ answer: @escaping (Answer) -> Void) {
        requests += 1
        waiting.append((requests, answer))
        send(opcode: 0x1, #"{"t":"d","d":{"r":\#(requests),"a":"\#(action)","b":\#(body)}}"#)
    }

    /// Sends a frame. Its mask is zero, which leaves the bytes as they are.
    private func send(opcode: UInt8, _ text: String) {
        var frame = channel.allocator.buffer(capacity: text.utf8.count + 8)
        frame.writeInteger(0x80 | opcode)
        if text.utf8.count < 126 {
            frame.writeInteger(0x80 | UInt8(text.utf8.count))
        } else {
            // A longer message would have to be sent in pieces.
            precondition(text.utf8.count <= 16_384, "a request of \(text.utf8.count) bytes")
            frame.writeInteger(UInt8(0x80 | 126))
            frame.writeInteger(UInt16(text.utf8.count))
        }
        frame.writeInteger(UInt32(0))
        frame.writeString(text)
        channel.writeAndFlush(frame, promise: nil)
    }

    func close() {
        state = .closed
        channel.close(promise: nil)
    }

    // MARK: Frames

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if buffer.readableBytes == 0 { buffer = bytes } else { buffer.writeBuffer(&bytes) }
        if case .upgrading = state { guard readResponse() else { return } }
        while case .opening = state, readFrame() {}
        while case .open = state, readFrame() {}
    }

    func channelInactive(context: ChannelHandlerContext) {
        end("the host has closed a socket")
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { end("\(error)") }

    private func end(_ reason: String) {
        if case .closed = state { return }
        state = .closed
        opened.fail(LoadError(reason))
        onEnd(reason)
        channel.close(promise: nil)
    }

    /// - Returns: whether the response has ended.
    private func readResponse() -> Bool {
        let text = buffer.readableBytesView
        guard let end = text.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { return false }
        guard text.starts(with: "HTTP/1.1 101 ".utf8) else {
            self.end("no upgrade: \(String(buffer: buffer).prefix(200))")
            return false
        }
        buffer.moveReaderIndex(to: end)
        state = .opening
        return true
    }

    /// - Returns: false if no whole frame is there.
    private func readFrame() -> Bool {
        let start = buffer.readerIndex
        guard let first: UInt8 = buffer.getInteger(at: start), let short: UInt8 = buffer.getInteger(at: start + 1)
        else { return false }
        var (length, header) = (Int(short), 2)
        if short == 126 {
            guard let long: UInt16 = buffer.getInteger(at: start + 2) else { return false }
            (length, header) = (Int(long), 4)
        } else if short == 127 {
            guard let long: UInt64 = buffer.getInteger(at: start + 2) else { return false }
            (length, header) = (Int(long), 10)
        }
        guard let text = buffer.getSlice(at: start + header, length: length) else { return false }
        buffer.moveReaderIndex(forwardBy: header + length)
        switch first {
        case 0x81: receive(text)
        case 0x89: send(opcode: 0xA, String(buffer: text))
        case 0x8A: break
        default: end("the host has sent a frame that begins with \(first)")
        }
        return true
    }

    /// Joins pieces.
    private func receive(_ text: ByteBuffer) {
        if var message = pieces {
            pieces = nil
            message.text.writeImmutableBuffer(text)
            message.missing -= 1
            if message.missing == 0 { handle(message.text) } else { pieces = message }
        } else if text.readableBytes <= 4, let count = Int(String(buffer: text)) {
            pieces = (count, ByteBuffer())
        } else {
            handle(text)
        }
    }

    // MARK: Messages

    private func handle(_ message: ByteBuffer) {
        let text = message.readableBytesView
        if text.starts(with: Self.pushStart) {
            onPush(message)
        } else if text.starts(with: Self.answerStart) {
            answer(message)
        } else if case .opening = state, text.starts(with: Self.helloStart) {
            state = .open
            opened.succeed()
        } else {
            end("the host has sent \(String(buffer: message).prefix(200))")
        }
    }

    private func answer(_ message: ByteBuffer) {
        let parts = String(buffer: message).dropFirst(Self.answerStart.count).split(separator: "\"", maxSplits: 6)
        guard let number = parts.first.flatMap({ Int($0.dropLast()) }), parts.count > 5,
            let request = waiting.popFirst(), request.number == number
        else { return end("an unexpected answer: \(String(buffer: message).prefix(200))") }
        request.answer(Answer(status: String(parts[5]), message: message))
    }
}
