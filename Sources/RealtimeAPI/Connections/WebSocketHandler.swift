import DequeModule
import NIOCore
import NIOWebSocket
import PortConnections
import Sharing

/// Receives what happens on a WebSocket. It is called on its own loop.
protocol SocketReceiver: AnyObject, Sendable {
    /// - Parameter bytes: the message's length.
    func receive(_ message: RealtimeMessage, bytes: Int)
    func socketIsReady()
    func socketClosed()
}

/// One WebSocket: joins frames to messages, reads them, and notices clients that have gone.
///
/// `@unchecked Sendable`: it is used on its channel's loop only; ``onLoop(_:)`` gets there.
final class WebSocketHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = WebSocketFrame

    private enum Received {
        case message(ByteBuffer)
        /// A request that was discarded.
        case tooLarge(Int64)
    }

    private enum State {
        case open
        /// The server has said that it closes, and waits a moment for the client to do so.
        case closing
        case closed
    }

    private let loop: RealtimeLoop
    /// A number that stands for the client's address.
    private let address: UInt64
    private let receiver: any SocketReceiver
    /// By which the receiver is reached on its loop.
    private let receiverQueue: ConnectionQueue
    private let channel: any Channel
    private var assembler: FrameAssembler
    /// A message in several frames of the WebSocket's own.
    private var fragments: ByteBuffer?
    /// Messages behind a large one that is being read on another thread.
    private var waiting: Deque<Received>?
    /// The bytes of that one and those behind it.
    private var unreadBytes = 0
    /// What has come since the last whole frame, and in total.
    private var frameBytes = 0
    private var receivedBytes = 0
    /// When a part of the message that isn't whole had come, and what had come until then.
    private var part: (at: NIODeadline, receivedBytes: Int)?
    private var isSessionReading = true
    private var isChannelReading = true
    private var held: HeldMemory?
    private var state = State.open
    private var lastRead: NIODeadline
    private var hasPinged = false
    let answersPings: Bool
    /// Whether something was sent since the client was last looked at; only known of one that answers no pings.
    private var hasSent = false
    /// The client's last ping that isn't answered: the client takes nothing.
    private var unansweredPing: ByteBuffer?
    /// What the client hadn't taken, and when that last changed.
    private var unsent = 0
    private var lastTaken: NIODeadline

    /// A larger frame than this is that of no client: those of SDKs have at most 48 KiB.
    static let maxFrameBytes = 1024 * 1024
    /// Messages up to this are read at once.
    private static let smallMessage = 64 * 1024
    /// A message that has begun goes on by at least as much, in the time that there is for it.
    private static let partBytes = 64 * 1024

    /// - Parameter answersPings: false for a client that a ping would make leave, such as Java's admin library.
    init(
        _ channel: any Channel, to receiver: any SocketReceiver, on receiverQueue: ConnectionQueue, address: UInt64,
        answersPings: Bool = true, loop: RealtimeLoop
    ) {
        self.answersPings = answersPings
        self.channel = channel
        self.receiver = receiver
        self.receiverQueue = receiverQueue
        self.address = address
        self.loop = loop
        assembler = FrameAssembler(maxMessageBytes: loop.parts.limits.messageBytes)
        held = loop.parts.bodies.map { HeldMemory($0, address: address) }
        lastRead = loop.eventLoop.now
        lastTaken = lastRead
    }

    /// Runs a body on the socket's loop, at once if that is the current one.
    func onLoop(_ body: @escaping @Sendable (WebSocketHandler) -> Void) {
        if loop.eventLoop.inEventLoop { body(self) } else { loop.eventLoop.execute { body(self) } }
    }

    private func onReceiver(_ body: @escaping @Sendable (any SocketReceiver) -> Void) {
        if receiverQueue.loop === loop { return body(receiver) }
        receiverQueue.post { [receiver] in body(receiver) }
    }

    // MARK: Frames

    /// Bytes come, before they are frames.
    func received(_ count: Int) {
        receivedBytes += count
        frameBytes += count
        // Of a smaller one, the rest is likely to come at once.
        if frameBytes > Self.partBytes { hold() }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if !answersPings { channel.endWhenUnacknowledged(for: .seconds(Int64(loop.parts.limits.silenceSeconds))) }
        loop.add(self)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
        guard state != .closed else { return }
        state = .closed
        loop.remove(self)
        loop.endBatch()
        discard()
        onReceiver { $0.socketClosed() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        loop.beginBatch()
        lastRead = loop.eventLoop.now
        hasPinged = false
        frameBytes = 0
        switch frame.opcode {
        case .connectionClose:
            if state == .open { write(opcode: 0x8, ByteBuffer()) }
            return abort()
        case .ping: return answer(ping: frame.unmaskedData)
        case .pong: return
        case .text, .continuation, .binary: break
        default: return close(.protocolError)
        }
        guard state == .open else { return }
        guard frame.maskKey != nil, frame.opcode != .binary else { return close(.protocolError) }
        receive(frame)
    }

    /// Only the last of several pings must be answered (RFC 6455, section 5.5.3). So a client that takes nothing has no more
    /// than one answer waiting.
    private func answer(ping: ByteBuffer) {
        guard channel.isWritable else { return unansweredPing = ping }
        write(opcode: 0xA, ping)
    }

    private func receive(_ frame: WebSocketFrame) {
        var text = frame.unmaskedData
        if frame.opcode == .continuation {
            guard var joined = fragments else { return close(.protocolError) }
            fragments = nil
            joined.writeBuffer(&text)
            text = joined
        } else if fragments != nil {
            return close(.protocolError)
        }
        guard frame.fin else {
            guard text.readableBytes <= loop.parts.limits.messageBytes else { return closeForSize() }
            fragments = text
            return hold()
        }
        switch assembler.receive(text) {
        case .incomplete: hold()
        case .keepAlive: break
        case .message(let message):
            part = nil
            handle(.message(message))
            hold()
        case .tooLarge(let request?):
            handle(.tooLarge(request))
            hold()
        case .invalid(.emptyFrame): close(.protocolError)
        case .tooLarge(nil), .invalid(.messageTooLarge): closeForSize()
        }
    }

    private func closeForSize() {
        close(.messageTooLarge, "a message may have \(loop.parts.limits.messageBytes) bytes")
    }

    /// The bytes of a message that isn't whole.
    private var partBytes: Int {
        assembler.heldBytes + (fragments?.readableBytes ?? 0) + (frameBytes > Self.partBytes ? frameBytes : 0)
    }

    /// Counts the parts of messages that have come, and the messages that aren't read yet, among those of all connections.
    private func hold() {
        guard state == .open else { return }
        let bytes = partBytes + unreadBytes
        if held?.adjust(to: bytes, identify: { nil }) == false { close(.unexpectedServerError) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        loop.endBatch()
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Bytes that aren't frames, or too large ones.
        if error is NIOWebSocketError { close(.protocolError) } else { abort() }
    }

    // MARK: Messages

    private func handle(_ received: Received) {
        if waiting != nil {
            waiting?.append(received)
            if case .message(let message) = received { unreadBytes += message.readableBytes }
            return
        }
        switch received {
        // The client can give it up. If the connection ended, it would send it again each time.
        case .tooLarge(let number): deliver(.request(number: number, .invalid(.tooMuchToWrite)), bytes: 0)
        case .message(let message) where message.readableBytes <= Self.smallMessage:
            deliver(Self.read(message), bytes: message.readableBytes)
        case .message(let message):
            waiting = []
            unreadBytes = message.readableBytes
            updateReading()
            // Nothing else that other threads have for the socket must keep its order with the message.
            let queue = ConnectionQueue(loop)
            loop.parts.longWork.add(of: address) { [self] in
                let read = Self.read(message)
                queue.post { self.goOn(after: read, bytes: message.readableBytes) }
            }
        }
    }

    private static func read(_ message: ByteBuffer) -> RealtimeMessage {
        message.withUnsafeReadableBytes { RealtimeMessage(parsing: $0) }
    }

    private func deliver(_ message: RealtimeMessage, bytes: Int) { onReceiver { $0.receive(message, bytes: bytes) } }

    /// Nothing more is received. A message that is being read is in memory until it is read.
    private func discard() {
        fragments = nil
        waiting = nil
        _ = held?.adjust(to: unreadBytes) { nil }
    }

    private func goOn(after read: RealtimeMessage, bytes: Int) {
        guard state == .open, let messages = waiting else {
            unreadBytes = 0
            held?.release()
            return
        }
        waiting = nil
        // From here on the session holds it.
        unreadBytes = 0
        hold()
        deliver(read, bytes: bytes)
        for message in messages { handle(message) }
        hold()
        updateReading()
    }

    // MARK: Reading and closing

    func setReading(_ isReading: Bool) {
        isSessionReading = isReading
        updateReading()
    }

    private func updateReading() {
        let isReading = isSessionReading && waiting == nil
        guard isReading != isChannelReading else { return }
        isChannelReading = isReading
        try? channel.syncOptions?.setOption(.autoRead, value: isReading)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        if let ping = unansweredPing {
            unansweredPing = nil
            write(opcode: 0xA, ping)
        }
        onReceiver { $0.socketIsReady() }
    }

    private func write(opcode: UInt8, _ content: ByteBuffer) {
        var frame = ByteBuffer()
        ServerFrame.header(opcode: opcode, length: content.readableBytes, to: &frame)
        frame.writeImmutableBuffer(content)
        channel.writeAndFlush(frame, promise: nil)
    }

    /// Closes once all before it is sent. Closing with unread bytes would reset the connection, and the client would lose what
    /// was sent last: the client closes first, or some seconds pass.
    func close() { close(.normalClosure) }

    /// - Parameter reason: for those who look into the connection.
    private func close(_ code: WebSocketErrorCode, _ reason: String = "") {
        guard state == .open else { return }
        state = .closing
        discard()
        var content = ByteBuffer()
        content.write(webSocketErrorCode: code)
        content.writeString(reason)
        write(opcode: 0x8, content)
        // Nothing of it is looked at.
        isSessionReading = true
        updateReading()
        loop.eventLoop.assumeIsolated().scheduleTask(in: loop.parts.port.closing) { [self] in abort() }
    }

    func abort() {
        guard state != .closed else { return }
        channel.close(promise: nil)
    }

    /// Whether a message has begun and not gone on: its part takes the memory that others need.
    private func isPartOverdue(_ now: NIODeadline) -> Bool {
        guard state == .open, partBytes > 0 else {
            part = nil
            return false
        }
        if let part, receivedBytes - part.receivedBytes < Self.partBytes {
            return now - part.at > loop.parts.port.transfer
        }
        part = (now, receivedBytes)
        return false
    }

    /// Looks whether the client is there, and takes what it is sent.
    func look(now: NIODeadline) {
        let unsent = channel.unsentBytes
        if unsent == 0 || unsent != self.unsent { lastTaken = now }
        self.unsent = unsent
        if now - lastTaken > loop.parts.port.idle { return abort() }
        // Clients say that they are there 45 s after the last frame, also if that was one of the server's. If one can't be
        // asked, the system notices in as much time whether it still takes what it is sent.
        if hasSent { (hasSent, lastRead) = (false, now) }
        let silence = now - lastRead
        // A client that isn't read can't be heard.
        guard isChannelReading else {
            part = nil
            return lastRead = now
        }
        if isPartOverdue(now) { return abort() }
        if silence > .seconds(Int64(loop.parts.limits.silenceSeconds)) {
            abort()
        } else if silence > .seconds(Int64(loop.parts.limits.pingSeconds)), !hasPinged, answersPings,
            state == .open
        {
            hasPinged = true
            write(opcode: 0x9, ByteBuffer())
        }
    }
}

extension WebSocketHandler {
    /// Notes that something is sent to a client that answers no pings.
    final class SendObserver: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let socket: WebSocketHandler

        init(_ socket: WebSocketHandler) { self.socket = socket }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            socket.hasSent = true
            context.write(data, promise: promise)
        }
    }

    /// Tells the handler what comes before it is decoded: the decoder keeps a frame until it is whole.
    final class ByteCounter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias InboundOut = ByteBuffer

        private let socket: WebSocketHandler

        init(_ socket: WebSocketHandler) { self.socket = socket }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            socket.received(unwrapInboundIn(data).readableBytes)
            context.fireChannelRead(data)
        }
    }
}

/// Hands what happens on a WebSocket to the session that it was opened for.
final class SessionSocket: SocketReceiver {
    private let connection: RealtimeConnection

    init(_ connection: RealtimeConnection) { self.connection = connection }

    func receive(_ message: RealtimeMessage, bytes: Int) { connection.receive(message, bytes: bytes) }

    func socketIsReady() { connection.transportIsReady() }

    func socketClosed() { connection.finish() }
}
