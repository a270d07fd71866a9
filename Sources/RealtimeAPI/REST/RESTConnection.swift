import NIOCore
import NIOHTTP1
import PortConnections
import Sharing

/// One connection of the port until it becomes a WebSocket: reads a request, hands it to an exchange, and writes the exchange's
/// answer.
///
/// Requests of one connection are answered one at a time. Those behind wait here, and reading pauses.
final class RESTConnection: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        case idle
        case receiving(any RESTExchange)
        /// The request is answered already. Its rest is discarded, and the connection closes after it.
        case discarding
        case answering(any RESTExchange)
        case upgraded
    }

    let loop: RealtimeLoop
    let queue: ConnectionQueue
    private var state = State.idle
    private var context: ChannelHandlerContext?
    private(set) var head: HTTPRequestHead?
    private var waiting = WaitingParts()
    private var isPaused = false
    private var isBodyPaused = false
    private var isReading = true
    private var isClosing = false
    private var keepsAlive = true
    private var hasSentHead = false
    /// Completes once the last answer is written.
    private var lastSent: EventLoopFuture<Void>?
    private var lastClient: RealtimeClient?
    private var held: HeldMemory?
    private var heldAnswer: HeldMemory?
    private var receivedBytes = 0
    /// The part of a large body that had arrived when its time began last.
    private var timedBytes = 0
    private var deadline: NIODeadline
    /// What the client hadn't taken when the connection was looked at.
    private var lastUnsent = 0

    /// Each part of a large body has its time, and what clients haven't taken counts beyond as much.
    private static let partBytes = 64 * 1024

    init(loop: RealtimeLoop) {
        self.loop = loop
        queue = ConnectionQueue(loop)
        deadline = loop.eventLoop.now + loop.parts.port.idle
    }

    /// A number that stands for the client's address.
    var address: UInt64 { loop.parts.address(context?.remoteAddress, head?.headers ?? [:]) }

    /// Whom requests are for. A proxy may send those of several clients by one connection.
    var client: RealtimeClient {
        let address = address
        if let lastClient, lastClient.address == address { return lastClient }
        let client = RealtimeClient(address: address)
        lastClient = client
        return client
    }

    // MARK: In

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.add(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        loop.remove(self)
        context = nil
        lastClient?.leaves()
        held?.release()
        heldAnswer?.release()
        switch state {
        case .receiving(let exchange), .answering(let exchange): exchange.clientLeft()
        case .idle, .discarding, .upgraded: break
        }
        state = .idle
        waiting = WaitingParts()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        guard !isClosing else { return }
        guard mustWait || !waiting.isEmpty else { return handle(part) }
        waiting.append(part)
        pause(true)
        guard waiting.areTooMany else { return }
        isClosing = true
        breakOff()
    }

    private var mustWait: Bool {
        if case .answering = state { return true }
        return context?.channel.isWritable == false
    }

    private func pause(_ isPaused: Bool) {
        self.isPaused = isPaused
        updateReading()
    }

    /// Reads no more of a body for now.
    func pauseBody(_ isPaused: Bool) {
        isBodyPaused = isPaused
        updateReading()
    }

    private func updateReading() {
        let isReading = !isPaused && !isBodyPaused
        guard isReading != self.isReading else { return }
        self.isReading = isReading
        try? context?.channel.syncOptions?.setOption(.autoRead, value: isReading)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        settleAnswer()
        if case .answering(let exchange) = state { exchange.clientIsReady() }
        if !waiting.isEmpty { handleWaiting() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A client that sends nothing more has left, as on the functions port.
        if case .inputClosed? = event as? ChannelEvent { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError, case .idle = state, !isClosing else { return context.close(promise: nil) }
        // The head is that of the request before, which has been answered.
        (head, hasSentHead, keepsAlive) = (nil, false, false)
        refuse(RESTRefusal(400, "The request is not valid HTTP."))
    }

    private func handleWaiting() {
        while !isClosing, !mustWait, let part = waiting.popFirst() { handle(part) }
        if waiting.isEmpty { pause(false) }
    }

    private func handle(_ part: HTTPServerRequestPart) {
        switch part {
        case .head(let head): begin(head)
        case .body(let bytes): receive(bytes)
        case .end: finish()
        }
    }

    private func begin(_ head: HTTPRequestHead) {
        self.head = head
        // After a request with this header no other is parsed.
        keepsAlive =
            head.isKeepAlive && head.version.minor > 0 && !loop.isStopping
            && !head.headers.contains(name: "Upgrade") && head.method != .CONNECT
        hasSentHead = false
        (receivedBytes, timedBytes) = (0, 0)
        deadline = loop.eventLoop.now + loop.parts.port.transfer
        if let refusal = loop.parts.refusal(head) {
            state = .discarding
            return refuse(RESTRefusal(Int(refusal.status.code), refusal.message))
        }
        if let length = head.headers.first(name: "Content-Length").flatMap({ Int($0) }),
            length > loop.parts.port.bodyBytes
        {
            state = .discarding
            return refuse(RESTRefusal(.tooMuchToWrite))
        }
        // HTTP/1.0 has no answer before the answer: its client would take this one for that.
        if head.version.minor > 0, head.headers.first(name: "Expect")?.lowercased() == "100-continue" {
            context?.writeAndFlush(
                wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
        }
        state = .receiving(exchange(for: head))
    }

    private func exchange(for head: HTTPRequestHead) -> any RESTExchange {
        let end = head.uri.utf8.firstIndex(of: UInt8(ascii: "?")) ?? head.uri.endIndex
        return switch head.uri[..<end] {
        case "/.ws": WebSocketUpgrade(head, self)
        case "/.lp": PollExchange(head, self)
        default: DataExchange(head, self)
        }
    }

    private func receive(_ bytes: ByteBuffer) {
        guard case .receiving(let exchange) = state else { return }
        let count = bytes.readableBytes
        receivedBytes += count
        if receivedBytes - timedBytes > Self.partBytes {
            timedBytes = receivedBytes
            deadline = loop.eventLoop.now + loop.parts.port.transfer
        }
        guard receivedBytes <= loop.parts.port.bodyBytes else {
            exchange.clientLeft()
            state = .discarding
            return refuse(RESTRefusal(.tooMuchToWrite))
        }
        if exchange.holdsBody, held == nil { held = loop.parts.bodies.map { HeldMemory($0, address: address) } }
        guard !exchange.holdsBody || held?.take(count, identify: { exchange.holder }) ?? true else {
            exchange.clientLeft()
            state = .discarding
            return refuse(RESTRefusal(503, "The server holds too many request bodies at the moment."))
        }
        exchange.receive(bytes)
    }

    private func finish() {
        guard case .receiving(let exchange) = state else {
            if case .discarding = state { closeWhenSent() }
            return
        }
        deadline = .distantFuture
        state = .answering(exchange)
        exchange.begin()
    }

    /// The body is no longer held in memory.
    func releaseBody() {
        held?.release()
        held = nil
    }

    // MARK: Out

    /// Whether the client takes more of its answer.
    var isReady: Bool { context?.channel.isWritable ?? false }

    private var isHead: Bool { head?.method == .HEAD }

    func refuse(_ refusal: RESTRefusal) {
        if case .discarding = state { keepsAlive = false }
        var headers: HTTPHeaders = [:]
        let body: ByteBuffer
        if refusal.isPlain {
            headers.add(name: "Content-Type", value: "text/plain; charset=utf-8")
            body = ByteBuffer(string: refusal.message)
        } else {
            headers.add(name: "Content-Type", value: RESTBody.contentType)
            body = RESTBody.error(refusal.message)
        }
        send(.init(statusCode: refusal.status), headers, body)
    }

    /// Sends a whole answer.
    ///
    /// - Parameter isDone: whether what was asked for has happened: without room for the body, the answer has none.
    func send(_ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ body: ByteBuffer, isDone: Bool = false) {
        guard holdAnswer(body.readableBytes) else {
            if isDone { return send(.noContent, headers, ByteBuffer()) }
            return refuse(RESTRefusal(503, "The server holds too many answers that their clients haven't taken."))
        }
        var headers = headers
        if status.mayHaveResponseBody { headers.replaceOrAdd(name: "Content-Length", value: "\(body.readableBytes)") }
        sendHead(status, headers)
        if body.readableBytes > 0, status.mayHaveResponseBody { write(body) }
        sendEnd()
    }

    /// Begins an answer that is sent in parts.
    func sendHead(_ status: HTTPResponseStatus, _ headers: HTTPHeaders) {
        guard let context, !hasSentHead else { return }
        hasSentHead = true
        var headers = headers
        CORS.add(to: &headers, head?.headers ?? [:])
        let version = head?.version.minor == 0 ? HTTPVersion.http1_0 : .http1_1
        if headers["Content-Length"].isEmpty {
            if version == .http1_0 {
                keepsAlive = false
            } else if !isHead, status.mayHaveResponseBody {
                headers.replaceOrAdd(name: "Transfer-Encoding", value: "chunked")
            }
        }
        if !keepsAlive { headers.replaceOrAdd(name: "Connection", value: "close") }
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: version, status: status, headers: headers))), promise: nil)
    }

    func sendPart(_ bytes: ByteBuffer) {
        guard holdAnswer(bytes.readableBytes) else { return breakOff() }
        write(bytes)
        flush()
    }

    /// Counts what the client may not take soon.
    ///
    /// - Returns: false if it is too much.
    private func holdAnswer(_ count: Int) -> Bool {
        guard count > Self.partBytes, !isHead, let answers = loop.parts.answers else { return true }
        var held = heldAnswer ?? HeldMemory(answers, address: address)
        defer { heldAnswer = held }
        return held.take(count) { if case .answering(let exchange) = state { exchange.holder } else { nil } }
    }

    /// Counts no more what the client has taken.
    private func settleAnswer() {
        guard heldAnswer?.bytes ?? 0 > 0 else { return }
        let unsent = unsent
        _ = heldAnswer?.adjust(to: unsent > Self.partBytes ? unsent : 0) { nil }
    }

    /// What was written and the system hasn't taken.
    private var unsent: Int { context?.channel.unsentBytes ?? 0 }

    private func write(_ bytes: ByteBuffer) {
        guard let context, !isHead, bytes.readableBytes > 0 else { return }
        context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
    }

    func flush() {
        context?.flush()
        settleAnswer()
    }

    func sendEnd() {
        guard let context else { return }
        releaseBody()
        let sent = context.eventLoop.makePromise(of: Void.self)
        lastSent = sent.futureResult
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
        settleAnswer()
        if case .discarding = state {
            deadline = loop.eventLoop.now + .seconds(10)
            return
        }
        state = .idle
        deadline = loop.eventLoop.now + loop.parts.port.idle
        if !keepsAlive {
            closeWhenSent()
        } else if !waiting.isEmpty {
            // Not at once: an answer that is available at once would bring the next request in here, recursively.
            context.eventLoop.assumeIsolated().execute { [self] in handleWaiting() }
        }
    }

    /// Ends an answer that can't be completed. The client sees that it was cut off.
    func breakOff() { context?.close(promise: nil) }

    private func closeWhenSent() {
        guard let context, !isClosing else { return }
        isClosing = true
        let channel = context.channel
        guard let lastSent else { return channel.close(promise: nil) }
        lastSent.whenComplete { _ in channel.close(promise: nil) }
    }

    // MARK: Time

    /// Looks whether the connection is stale, or what it streams isn't allowed any more.
    func look(now: NIODeadline) {
        guard let context else { return }
        if case .answering(let stream as any EventStreamOwner) = state { stream.endIfRevoked() }
        let unsent = unsent
        settleAnswer()
        defer { lastUnsent = unsent }
        if unsent > 0, unsent == lastUnsent {
            // The client takes nothing of its answer.
            if deadline == .distantFuture { deadline = now + loop.parts.port.idle }
        } else if case .answering = state {
            deadline = .distantFuture
        } else if unsent != lastUnsent, case .idle = state {
            // It takes the end of an answer, however long that takes.
            deadline = now + loop.parts.port.idle
        }
        if deadline <= now { context.close(promise: nil) }
    }

    func beginStopping() {
        keepsAlive = false
        switch state {
        case .idle: closeWhenSent()
        case .answering(let exchange as any EventStreamOwner): exchange.stop()
        default: break
        }
    }

    func abort() { context?.close(promise: nil) }

    // MARK: Upgrade

    /// Makes the connection a WebSocket.
    ///
    /// - Parameter handler: makes the WebSocket's handler, and what begins once it is in its place.
    func upgrade(_ headers: HTTPHeaders, to handler: (any Channel) -> (WebSocketHandler, begin: () -> Void)) throws {
        guard let context else { return }
        state = .upgraded
        let head = HTTPResponseHead(version: .http1_1, status: .switchingProtocols, headers: headers)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
        let (socket, begin) = handler(context.channel)
        try WebSocketPipeline.replaceHTTP(in: context, with: socket)
        begin()
        // Frames that came with the request follow without the end of a read.
        context.eventLoop.execute { [loop] in loop.endBatch() }
    }
}

extension HTTPResponseStatus {
    fileprivate var mayHaveResponseBody: Bool { self != .noContent && self != .notModified }
}
