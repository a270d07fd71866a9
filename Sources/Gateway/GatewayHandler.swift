import DocumentModel
import FunctionManifest
import PortConnections
import Sharing
import WorkerProtocol
import Workers
import Logging
import NIOCore
import NIOHTTP1

/// One connection of a client: reads a request, hands it to an exchange, and writes the exchange's answer.
///
/// Requests of one connection are answered one at a time. Pipelined requests are buffered here, and reading pauses, so
/// that further ones wait in the client's socket.
final class GatewayHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = ByteBuffer

    private enum State {
        case idle
        case receiving(HTTPRequestHead, ByteBuffer)
        /// The request is answered already. Its rest is discarded, and the connection closes after it.
        case discarding
        case answering(any Exchange)
    }

    private let loop: GatewayLoop
    private let heads: HeadGauge?
    private var state = State.idle
    private var context: ChannelHandlerContext?
    /// The other end of the connection.
    private var peer: IPAddress?
    private var request = AnswerRequest()
    private var answer = AnswerWriter()
    private var pace = AnswerPace()
    /// Parts of requests that arrived before the last answer was sent.
    private var waiting = WaitingParts()
    private var isPaused = false
    /// Whether the connection closes after the current answer. Later requests are ignored.
    private var isClosing = false
    /// The memory of the request's body, and of its head if that is large.
    private var held: HeldMemory?
    /// The headers of the request that is being answered. A connection that waits for its next one keeps none: its client
    /// may have many such connections.
    private(set) var headers = HTTPHeaders()
    /// The time at which the connection becomes stale in its current state.
    private(set) var deadline: NIODeadline

    /// - Parameter heads: what stands before the decoder.
    init(loop: GatewayLoop, heads: HeadGauge? = nil) {
        self.loop = loop
        self.heads = heads
        deadline = loop.eventLoop.now + loop.limits.times.idle
    }

    var isIdle: Bool { if case .idle = state { true } else { false } }

    /// Whether an answer is being made, or its client hasn't taken all of it yet.
    var owesAnswer: Bool { isAnswering || context?.channel.unsentBytes ?? 0 > 0 }

    /// Closes the connection, which cuts off an answer that isn't sent whole: the client sees that.
    func close() {
        guard let context else { return }
        // Otherwise the end of the connection would be that of the answer.
        if answer.endsByClosing, owesAnswer { context.channel.reset() } else { context.close(promise: nil) }
    }

    /// Closes a connection that has been silent for too long, and refuses a request that hasn't arrived in time. A client
    /// that goes on taking its answer isn't silent, and neither is one that has nothing to take of a stream.
    func closeIfStale(now: NIODeadline) {
        guard deadline <= now, let unsent = context?.channel.unsentBytes else { return }
        if case .receiving(let head, _) = state {
            return refuse(.tooSlow(loop.limits.times.transfer), status: .requestTimeout, head)
        }
        let goesOn =
            switch state {
            case .idle: pace.look(unsent) == .enough
            case .answering: !pace.hasStalled(unsent)
            case .receiving, .discarding: false
            }
        if goesOn { deadline = now + loop.limits.times.idle } else { close() }
    }

    /// Closes once the last answer is sent: closing at once would discard what isn't written yet.
    func closeWhenSent() {
        guard let context else { return }
        isClosing = true
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        // An empty write, queued after everything that is still to be written.
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: sent)
    }

    // MARK: In

    func channelActive(context: ChannelHandlerContext) {
        self.context = context
        peer = IPAddress(context.remoteAddress)
        loop.add(self)
    }

    func channelInactive(context: ChannelHandlerContext) {
        loop.remove(self)
        self.context = nil
        releaseBody()
        if case .answering(let exchange) = state { exchange.clientLeft() }
        state = .idle
        waiting = WaitingParts()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        heads?.partArrived()
        guard !isClosing else { return }
        guard mustWait || !waiting.isEmpty else { return handle(part) }
        waiting.append(part)
        if !isPaused {
            isPaused = true
            _ = context.channel.setOption(.autoRead, value: false)
        }
        if waiting.areTooMany {
            loop.logRefusal("a connection was closed: it sent too many requests ahead", of: peer, [:])
            isClosing = true
            close()
        }
    }

    /// A client that doesn't read its answers gets no further ones: they would fill the host's memory.
    private var mustWait: Bool { isAnswering || context?.channel.isWritable == false }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable && !waiting.isEmpty { handleWaiting() }
    }

    private var isAnswering: Bool { if case .answering = state { true } else { false } }

    private func handle(_ part: HTTPServerRequestPart) {
        switch part {
        case .head(let head): begin(head)
        case .body(let bytes): receive(bytes)
        case .end: finish()
        }
    }

    /// Handles the requests that arrived while the last answer was being made.
    private func handleWaiting() {
        while !isClosing, !mustWait, let part = waiting.popFirst() { handle(part) }
        if waiting.isEmpty && isPaused, let context {
            isPaused = false
            _ = context.channel.setOption(.autoRead, value: true)
        }
    }

    /// Answers bytes that aren't HTTP and a head that has no room, unless answers are to be sent before: the client
    /// would take this one for a part of those.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let refusal: (failure: InvocationFailure, status: HTTPResponseStatus)?
        switch error {
        case is HeadGauge.Refusal:
            loop.logRefusal("a request was refused: too much is held of heads that aren't whole", of: peer, [:])
            refusal = (.tooManyBodies, .serviceUnavailable)
        case HTTPParserError.headerOverflow: refusal = (.headTooLarge, .requestHeaderFieldsTooLarge)
        case is HTTPParserError: refusal = (.notHTTP, .badRequest)
        default: refusal = nil
        }
        if case .discarding = state { return closeWhenSent() }
        guard let refusal, !isAnswering, waiting.isEmpty, !isClosing else { return context.close(promise: nil) }
        request = AnswerRequest()
        answer.reset()
        refuse(refusal.failure, status: refusal.status, nil)
        closeWhenSent()
    }

    private func begin(_ received: HTTPRequestHead) {
        guard let context else { return }
        let head = received.inOriginForm
        request = AnswerRequest(
            isHead: head.method == .HEAD, isOld: head.version.major == 1 && head.version.minor == 0,
            keepsAlive: head.isKeepAlive && !loop.isStopping && !head.endsRequests)
        answer.reset()
        deadline = loop.eventLoop.now + loop.limits.times.transfer
        state = .receiving(head, ByteBuffer())
        headers = head.headers
        if let refusal = loop.rules.refusal(of: head) {
            // Else the function is looked for.
            return refuse(refusal.failure, status: refusal.status, head.isComparable ? head : nil)
        }
        if let length = head.headers.first(name: "Content-Length").flatMap(Int.init), length > loop.limits.requestBody {
            return refuse(.bodyTooLarge(limit: loop.limits.requestBody), status: .payloadTooLarge, head)
        }
        let size = head.size
        if size > HeadGauge.smallHead, !hold(size, head) {
            return refuse(.tooManyBodies, status: .serviceUnavailable, head)
        }
        // HTTP/1.0 has no answer before the answer: its client would take this one for that.
        if !request.isOld, head.headers.first(name: "Expect")?.lowercased() == "100-continue" {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")), promise: nil)
        }
    }

    private func receive(_ bytes: ByteBuffer) {
        guard case .receiving(let head, var body) = state else { return }
        state = .discarding
        guard body.readableBytes + bytes.readableBytes <= loop.limits.requestBody else {
            return refuse(.bodyTooLarge(limit: loop.limits.requestBody), status: .payloadTooLarge, head)
        }
        guard hold(bytes.readableBytes, head) else {
            return refuse(.tooManyBodies, status: .serviceUnavailable, head)
        }
        if body.readableBytes == 0 {
            body = bytes
        } else {
            // At once what it will need: a buffer that grows has twice the size.
            if body.writableBytes < bytes.readableBytes, let length = head.headers.first(name: "Content-Length") {
                body.reserveCapacity(min(Int(length) ?? 0, loop.limits.requestBody))
            }
            body.writeImmutableBuffer(bytes)
        }
        state = .receiving(head, body)
    }

    private func finish() {
        guard case .receiving(let head, let body) = state else {
            if case .discarding = state { closeWhenSent() }
            return
        }
        deadline = .distantFuture
        guard !loop.isStopping else {
            state = .idle
            return refuse(.stopping, status: .serviceUnavailable, head)
        }
        let exchange = makeExchange(head, body)
        state = .answering(exchange)
        exchange.begin()
    }

    private func makeExchange(_ head: HTTPRequestHead, _ body: ByteBuffer) -> any Exchange {
        guard let match = match(head) else {
            return PlainExchange.notFound(head, loop: loop, connection: self)
        }
        let address = peer.map { loop.proxies.client($0, head.headers) }
        let request = GatewayRequest(head: head, body: body, match: match, address: address)
        switch match.function.manifest.trigger {
        case .callable(let trigger):
            return CallableExchange(request, trigger, loop: loop, connection: self)
        case .http(let trigger):
            return HTTPExchange(request, trigger, loop: loop, connection: self)
        case .blocking(let trigger):
            guard let verifier = loop.verifiers.blockingEvent else { fallthrough }
            return BlockingExchange(request, trigger, verifier: verifier, loop: loop, connection: self)
        case .document, .reference, .schedule, .task, .event:
            return PlainExchange.notFound(head, loop: loop, connection: self)
        }
    }

    private func match(_ head: HTTPRequestHead) -> RouteTable.Match? {
        loop.routes.match(uri: head.uri, host: head.headers.first(name: "Host"))
    }

    /// Sends an error and closes the connection. If the request is incomplete, its rest is read and discarded first:
    /// closing with unread bytes resets the connection, and the client would lose the answer.
    ///
    /// - Parameter head: nil if the request couldn't be read.
    private func refuse(_ failure: InvocationFailure, status: HTTPResponseStatus, _ head: HTTPRequestHead?) {
        if case .receiving = state { state = .discarding }
        request.keepsAlive = false
        let function = head.flatMap { match($0) }?.function
        // That a client is slow would count as a timeout of the function.
        if let function, !function.manifest.trigger.isForEvents, status != .requestTimeout {
            function.countRefusal(failure, now: loop.eventLoop.now)
        }
        let refusal = EarlyRefusal(failure, status: status, to: head, trigger: function?.manifest.trigger)
        send(refusal.status, refusal.headers, body: refusal.body)
    }

    // MARK: Out

    /// Sends a whole answer, or ends the connection if a large one has no room.
    func send(_ status: HTTPResponseStatus, _ headers: HTTPHeaders, body: ByteBuffer) {
        if !send(status, headers, AnswerPart(content: body)) { close() }
    }

    /// Sends a whole answer.
    ///
    /// - Returns: false if the answer has no room at the moment; nothing was sent then. A small one always has.
    func send(_ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ body: AnswerPart) -> Bool {
        guard let context, !answer.hasHead else { return true }
        let hasBody = !request.isHead && AnswerWriter.mayHaveBody(status)
        return holding(hasBody ? body.count : 0) { held in
            let isLarge = body.content.readableBytes > Self.largeAnswer
            var bytes = context.channel.allocator.buffer(capacity: 512 + (isLarge ? 0 : body.count))
            answer.head(status, headers, length: body.count, request: request, date: loop.date(), into: &bytes)
            finish(with: bytes, body, held, context)
        }
    }

    /// Begins an answer that is sent in parts.
    func sendHead(_ status: HTTPResponseStatus, _ headers: HTTPHeaders) {
        guard let context, !answer.hasHead else { return }
        var bytes = ByteBuffer()
        answer.head(status, headers, length: nil, request: request, date: loop.date(), into: &bytes)
        pace.begin()
        pace.wrote(bytes.readableBytes)
        deadline = loop.eventLoop.now + loop.limits.times.idle
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    /// - Parameter taken: called once the bytes are sent, or can't be sent any more.
    func sendChunk(_ part: AnswerPart, taken: @escaping () -> Void) {
        guard let context else { return taken() }
        let promise = context.eventLoop.makePromise(of: Void.self)
        // What the socket doesn't take at once waits here for the client.
        if !context.channel.isWritable || part.count > Self.largeAnswer {
            guard var held = holdAnswer(part.count) else {
                promise.succeed()
                taken()
                return close()
            }
            promise.futureResult.assumeIsolated().whenComplete { _ in held.release() }
        }
        promise.futureResult.assumeIsolated().whenComplete { _ in taken() }
        write(ByteBuffer(), part, isLast: false, context, promise)
    }

    /// Ends an answer that was sent in parts.
    ///
    /// - Parameter last: its last part.
    /// - Returns: false if the part has no room at the moment; nothing was sent then. A small one always has.
    func sendEnd(_ last: AnswerPart) -> Bool {
        guard let context else { return true }
        return holding(request.isHead ? 0 : last.count) { finish(with: ByteBuffer(), last, $0, context) }
    }

    /// - Parameters:
    ///   - start: the bytes before the answer's last part.
    ///   - held: what the part holds of the memory of answers, until its client has taken it.
    private func finish(
        with start: ByteBuffer, _ part: AnswerPart, _ held: HeldMemory?, _ context: ChannelHandlerContext
    ) {
        releaseBody()
        headers = HTTPHeaders()
        var sent: EventLoopPromise<Void>?
        if var held {
            let promise = context.eventLoop.makePromise(of: Void.self)
            promise.futureResult.assumeIsolated().whenComplete { _ in held.release() }
            sent = promise
        }
        pace.begin()
        write(start, part, isLast: true, context, sent)
        if case .discarding = state {
            deadline = loop.eventLoop.now + loop.limits.times.discard
            return
        }
        state = .idle
        deadline = loop.eventLoop.now + loop.limits.times.idle
        if !request.keepsAlive || answer.endsByClosing {
            closeWhenSent()
        } else if !waiting.isEmpty {
            // Not immediately: an answer that is available at once would bring the next request in here, recursively.
            context.eventLoop.assumeIsolated().execute { [self] in handleWaiting() }
        }
    }

    /// Takes memory for bytes, if they are many.
    ///
    /// - Returns: false, without a call of the body, if there is none.
    private func holding(_ size: Int, _ body: (HeldMemory?) -> Void) -> Bool {
        guard size > Self.largeAnswer else {
            body(nil)
            return true
        }
        guard let held = holdAnswer(size) else { return false }
        body(held)
        return true
    }

    /// Counts an answer, or a part of one, until its client has taken it.
    ///
    /// - Returns: nil if too much waits already for the caller, or for all.
    private func holdAnswer(_ size: Int) -> HeldMemory? {
        var held = HeldMemory(loop.memory.answers, address: loop.caller.address(peer, headers))
        if held.take(size, identify: { loop.caller.user(headers) }) { return held }
        loop.logRefusal(
            "an answer was dropped: too many wait for clients that don't read them", of: peer, level: .warning,
            ["answer.bytes": "\(size)", "answers.waiting": "\(loop.memory.answers.figures.used)"])
        return nil
    }

    /// Writes a part of an answer: a small one with a single system call, a large one mostly without a copy of its
    /// content.
    private func write(
        _ start: ByteBuffer, _ part: AnswerPart, isLast: Bool, _ context: ChannelHandlerContext,
        _ promise: EventLoopPromise<Void>?
    ) {
        var bytes = start
        if part.content.readableBytes <= Self.largeAnswer {
            answer.part(part, into: &bytes)
        } else if answer.beginPart(part, into: &bytes) {
            pace.wrote(bytes.readableBytes + part.content.readableBytes)
            context.write(wrapOutboundOut(bytes), promise: nil)
            context.write(wrapOutboundOut(part.content.withOwnStorage), promise: nil)
            bytes = ByteBuffer()
            answer.endPart(part, into: &bytes)
        }
        if isLast { answer.end(into: &bytes) }
        pace.wrote(bytes.readableBytes)
        context.writeAndFlush(wrapOutboundOut(bytes), promise: promise)
    }

    /// Smaller answers mostly fit into the socket's buffer at once.
    private static let largeAnswer = 65_536

    /// Counts bytes of the request from their arrival until the request is answered or the connection closes.
    private func hold(_ count: Int, _ head: HTTPRequestHead) -> Bool {
        if held == nil {
            held = HeldMemory(loop.memory.bodies, address: loop.caller.address(peer, head.headers))
        }
        return held?.take(count) { loop.caller.user(head.headers) } ?? false
    }

    private func releaseBody() {
        held?.release()
        held = nil
    }
}
