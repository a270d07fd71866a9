import DequeModule
import Logging
package import NIOCore
package import NIOHTTP1
import PortConnections
import Sharing
import WorkerProtocol
import Workers

/// Keeps the rules of a port for the server behind it: refuses requests before the server sees them, bounds the memory
/// of their bodies and the time in which they arrive, and removes the bodies of answers to HEAD.
///
/// Stands between the HTTP codec of a connection and its server, which answers one request after the other.
package final class PortHandler: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias InboundOut = HTTPServerRequestPart
    package typealias OutboundIn = HTTPServerResponsePart
    package typealias OutboundOut = HTTPServerResponsePart

    /// A request that isn't answered yet.
    private struct Request {
        let isHEAD: Bool
        /// HTTP/1.0, which has no chunks.
        let isOld: Bool
        let headers: HTTPHeaders
        /// The memory of its body, and of its head if that is large; nil if neither has come.
        var body: HeldMemory?
    }

    private enum Refusing {
        case no
        /// Nothing more is handed to the server. The refusal, if there is one, waits for the answers before it.
        case waits(PortRefusal?)
        /// The refusal is sent; the rest of its request is read and discarded, since closing with unread bytes resets
        /// the connection, and the client would lose the answer.
        case sent(EventLoopFuture<Void>)
    }

    private let rules: PortRules
    private let heads: HeadGauge?
    /// Whether the channel is one of HTTP/2's streams, which has none of a socket's options.
    private let isStream: Bool
    /// Of a stream: bytes that were written and not sent.
    private var streamUnsent = 0
    private var peer: IPAddress?
    private var unanswered: Deque<Request> = []
    /// The head of the request whose rest is still to come. It is the last of the unanswered ones, unless the server has
    /// answered it already.
    private var receiving: HTTPRequestHead?
    private var body: JoinedBody
    private var refusing = Refusing.no
    /// Whether all of the refused request was read.
    private var isRefusedWhole = false
    /// The server may hold the body of the refused request until the connection closes.
    private var refusedBody: HeldMemory?
    /// Whether the end of the connection ends the answer that is being sent.
    private var endsByClosing = false
    /// Whether the server has begun to answer the first of the unanswered requests.
    private var isAnswering = false
    private var hasSentPart = false
    /// The head of an answer, until it is known what follows: the length of an answer to HEAD, or whether there is room
    /// for the answer.
    private var head: HTTPResponseHead?
    private var length = 0
    private var pace = AnswerPace()
    /// Whether no request is parsed after the newest: it asks for another protocol.
    private var endsRequests = false
    /// Whether that one is to be answered, the last of the unanswered ones.
    private var isLast = false
    /// Nothing more is read: the decoder would keep it all.
    private var takesNoMore = false

    /// When the request has to be complete.
    private var receiveBy = NIODeadline.distantFuture
    /// When the connection has been silent for too long.
    private var silentBy = NIODeadline.distantFuture
    private var hasEnded = false
    private var timer: (due: NIODeadline, task: Scheduled<Void>)?
    /// Closes the connection of a host that stops.
    private var lastCall: Scheduled<Void>?
    /// When the latest answer is sent.
    private var lastAnswer: EventLoopFuture<Void>?

    package convenience init(_ rules: PortRules, isStream: Bool = false) {
        self.init(rules, isStream: isStream, heads: nil)
    }

    /// - Parameter heads: what stands before the decoder; nil for a stream, whose connection bounds them.
    init(_ rules: PortRules, isStream: Bool = false, heads: HeadGauge?) {
        self.rules = rules
        self.isStream = isStream
        self.heads = heads
        body = JoinedBody(isStream: isStream)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        if !isStream {
            context.channel.boundUnsentInSystem()
            // The loop's other connections are served before more of a large body is read.
            try? context.channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
        }
        silentBy = context.eventLoop.now + rules.times.idle
        schedule(context)
    }

    package func handlerRemoved(context: ChannelHandlerContext) { end(context) }

    package func channelInactive(context: ChannelHandlerContext) {
        end(context)
        context.fireChannelInactive()
    }

    private func end(_ context: ChannelHandlerContext) {
        hasEnded = true
        if case .waits(let refusal?) = refusing {
            refusal.log(by: rules, now: context.eventLoop.now)
            refusing = .waits(nil)
        }
        timer?.task.cancel()
        timer = nil
        lastCall?.cancel()
        for index in unanswered.indices { unanswered[index].body?.release() }
        refusedBody?.release()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The server ends idle connections, and waits for all others, however slowly a client sends or takes.
        if event is ChannelShouldQuiesceEvent, !isStream, !hasEnded, lastCall == nil {
            lastCall = context.eventLoop.assumeIsolated().scheduleTask(in: rules.times.grace) { [self] in
                breakOff(context)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// The peer of the connection. Asking the system for it takes as long as much of a small request.
    private func peer(_ context: ChannelHandlerContext) -> IPAddress? {
        if let peer { return peer }
        // A stream has no address of its own.
        peer = IPAddress(isStream ? context.channel.remoteAddress : context.remoteAddress)
        return peer
    }

    private func address(_ headers: HTTPHeaders, _ context: ChannelHandlerContext) -> UInt64 {
        rules.caller.address(peer(context), headers)
    }

    // MARK: In

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        heads?.partArrived()
        switch part {
        case .head(let head): endsRequests = head.endsRequests
        case .end: takesNoMore = endsRequests
        case .body: break
        }
        guard case .no = refusing else {
            if case .end = part {
                isRefusedWhole = true
                closeAfterRefusal(context)
            }
            return
        }
        switch part {
        case .head(let head):
            guard unanswered.count < WaitingParts.mostRequests else { return cutOff(context) }
            if let refusal = rules.refusal(of: head) { return refuse(refusal, of: head, context) }
            unanswered.append(
                Request(
                    isHEAD: head.method == .HEAD, isOld: head.version.major == 1 && head.version.minor == 0,
                    headers: head.headers))
            receiving = head
            isLast = endsRequests
            // One behind others is read only once the server wants it.
            if unanswered.count == 1 { receiveBy = context.eventLoop.now + rules.times.transfer }
            let size = head.size
            guard size <= HeadGauge.smallHead || hold(size, of: head, context) else {
                return refuse(.tooManyBodies, of: head, context)
            }
        case .body(let bytes):
            if let receiving, !unanswered.isEmpty, !hold(body.cost(of: bytes), of: receiving, context) {
                return refuse(.tooManyBodies, of: receiving, context)
            }
            body.append(bytes)
            // Most requests are whole by now.
            if let timer, receiveBy < timer.due { schedule(context) }
            return
        case .end:
            passBody(context)
            receiving = nil
            receiveBy = .distantFuture
        }
        context.fireChannelRead(data)
    }

    private func passBody(_ context: ChannelHandlerContext) {
        if let bytes = body.take() { context.fireChannelRead(wrapInboundOut(.body(bytes))) }
    }

    /// Closes the connection of a client that sends too many requests ahead. Not to read doesn't bound them: at the end
    /// of what a client sends, NIO reads all that the system has of it.
    private func cutOff(_ context: ChannelHandlerContext) {
        rules.refusals?.log(
            "a connection was closed: it sent too many requests ahead", of: peer(context), level: .info,
            now: context.eventLoop.now, ["port": "\(rules.name)"])
        refusing = .waits(nil)
        breakOff(context)
    }

    /// Counts bytes of the newest request until it is answered.
    private func hold(_ bytes: Int, of head: HTTPRequestHead, _ context: ChannelHandlerContext) -> Bool {
        let last = unanswered.count - 1
        var held = unanswered[last].body ?? HeldMemory(rules.memory.bodies, address: address(head.headers, context))
        let isHeld = held.take(bytes) { rules.caller.user(head.headers) }
        unanswered[last].body = held
        return isHeld
    }

    package func read(context: ChannelHandlerContext) { if !takesNoMore { context.read() } }

    package func channelReadComplete(context: ChannelHandlerContext) {
        if case .no = refusing { passBody(context) } else { body.discard() }
        context.fireChannelReadComplete()
        // The server asks for more only if it wants more. What a stream isn't asked for waits in it, and doesn't count.
        if isStream { return read(context: context) }
        if case .sent = refusing { read(context: context) }
    }

    /// Refuses the request that is being received.
    private func refuse(
        _ answer: LocalHosts.Refusal, of head: HTTPRequestHead, _ context: ChannelHandlerContext
    ) {
        let refusal = PortRefusal(
            answer, isHEAD: head.method == .HEAD, head.headers, rules.caller.client(peer(context), head.headers),
            by: rules)
        body.discard()
        if receiving != nil {
            receiving = nil
            receiveBy = .distantFuture
            // A server that answers already is left to end its answer.
            if unanswered.count == 1, isAnswering {
                refusal.log(by: rules, now: context.eventLoop.now)
                return refusing = .waits(nil)
            }
            let refused = unanswered.popLast()
            refusedBody = refused?.body
            if refused == nil { refusal.log(by: rules, now: context.eventLoop.now) }
            refusing = .waits(refused == nil ? nil : refusal)
        } else {
            refusing = .waits(refusal)
        }
        refuseIfNext(context, after: context.eventLoop.makeSucceededVoidFuture())
    }

    /// A head that isn't whole has no room. It is answered only if that needn't wait: the decoder holds its beginning
    /// until the connection ends.
    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HeadGauge.Refusal else { return context.fireErrorCaught(error) }
        let refusal = PortRefusal(.tooManyBodies, isHEAD: false, HTTPHeaders(), peer(context), by: rules)
        guard case .no = refusing, unanswered.isEmpty, receiving == nil else {
            refusal.log(by: rules, now: context.eventLoop.now)
            return breakOff(context)
        }
        isRefusedWhole = true
        refusing = .waits(refusal)
        refuseIfNext(context, after: context.eventLoop.makeSucceededVoidFuture())
    }

    // MARK: Out

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // The server doesn't know of the refusal.
        if case .sent = refusing { return promise?.succeed() ?? () }
        let part = unwrapOutboundIn(data)
        let isHEAD = unanswered.first?.isHEAD ?? false
        switch part {
        case .head(let head) where head.status.code >= 200:
            isAnswering = true
            hasSentPart = false
            silentBy = context.eventLoop.now + rules.times.idle
            guard isHEAD || rules.countsAnswers else { return writeHead(head, context, promise) }
            self.head = head
            length = 0
            promise?.succeed()
        case .body(let bytes) where isHEAD:
            length += bytes.readableBytes
            promise?.succeed()
        case .body(let bytes): writeBody(bytes.readableBytes, data, context, promise)
        case .end:
            if let head, !isHEAD { writeHead(head, context, nil) }
            if var head, isHEAD {
                if isLast, unanswered.count == 1 { endByClosing(&head) }
                if !head.headers.contains(name: "Content-Length") {
                    head.headers.remove(name: "Transfer-Encoding")
                    head.headers.add(name: "Content-Length", value: "\(length)")
                }
                context.write(wrapOutboundOut(.head(head)), promise: nil)
            }
            self.head = nil
            let answered = promise ?? context.eventLoop.makePromise(of: Void.self)
            context.write(data, promise: answered)
            lastAnswer = answered.futureResult
            isAnswering = false
            if endsByClosing {
                let channel = context.channel
                answered.futureResult.whenComplete { _ in channel.close(promise: nil) }
            }
            if var request = unanswered.popFirst() { request.body?.release() }
            silentBy = context.eventLoop.now + rules.times.idle
            if receiving != nil, unanswered.count == 1 {
                receiveBy = context.eventLoop.now + rules.times.transfer
                schedule(context)
            }
            refuseIfNext(context, after: answered.futureResult)
        default: context.write(data, promise: promise)
        }
    }

    /// Once the host stops, the server closes a connection as soon as it has written its answer. That would cut off
    /// what the client hasn't taken yet.
    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all else { return context.close(mode: mode, promise: promise) }
        guard lastCall != nil, let lastAnswer else { return breakOff(context, promise) }
        lastAnswer.assumeIsolated().whenComplete { [self] _ in breakOff(context, promise) }
    }

    /// Closes the connection. If its end is that of an answer which isn't sent whole, the client sees that it was cut off.
    private func breakOff(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>? = nil) {
        guard endsByClosing, isAnswering || unsentBytes(context) > 0 else { return context.close(promise: promise) }
        context.channel.reset()
        promise?.succeed()
    }

    /// To a client that knows no chunks, an answer without a length ends with its connection.
    private func writeHead(
        _ head: HTTPResponseHead, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?
    ) {
        var head = head
        if unanswered.first?.isOld == true, !head.headers.contains(name: "Content-Length") {
            head.version = .http1_0
            head.headers.remove(name: "Transfer-Encoding")
            endByClosing(&head)
        }
        if isLast, unanswered.count == 1 { endByClosing(&head) }
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }

    private func endByClosing(_ head: inout HTTPResponseHead) {
        head.headers.replaceOrAdd(name: "Connection", value: "close")
        endsByClosing = true
    }

    /// A large answer counts until its client has taken it.
    private func writeBody(
        _ count: Int, _ data: NIOAny, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?
    ) {
        // Looking costs as much as much of a small request. A small answer's time has just begun anyway.
        if hasSentPart || count >= Self.notSmall, unsentBytes(context) == 0 {
            silentBy = context.eventLoop.now + rules.times.idle
            pace.begin()
        }
        hasSentPart = true
        pace.wrote(count)
        let promise = isStream ? countingUnsent(count, context, promise) : promise
        guard rules.countsAnswers, count > Self.largeAnswer, let request = unanswered.first else {
            writeHeldHead(context)
            return context.write(data, promise: promise)
        }
        var held = HeldMemory(rules.memory.answers, address: address(request.headers, context))
        guard held.take(count, identify: { rules.caller.user(request.headers) }) else {
            return refuseToAnswer(request, context, promise)
        }
        writeHeldHead(context)
        let sent = promise ?? context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenComplete { _ in held.release() }
        context.write(data, promise: sent)
    }

    private func unsentBytes(_ context: ChannelHandlerContext) -> Int {
        isStream ? streamUnsent : context.channel.unsentBytes
    }

    private func countingUnsent(
        _ count: Int, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?
    ) -> EventLoopPromise<Void> {
        let promise = promise ?? context.eventLoop.makePromise(of: Void.self)
        streamUnsent += count
        promise.futureResult.assumeIsolated().whenComplete { [self] _ in streamUnsent -= count }
        return promise
    }

    private static let largeAnswer = 65_536
    /// Firestore's answers come in parts of 64 KiB.
    private static let notSmall = 16_384

    private func writeHeldHead(_ context: ChannelHandlerContext) {
        guard let head else { return }
        self.head = nil
        writeHead(head, context, nil)
    }

    /// Refuses a request whose answer has no room. Once a part of the answer is sent, the connection ends instead.
    private func refuseToAnswer(
        _ request: Request, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?
    ) {
        let client = rules.caller.client(peer(context), request.headers)
        guard head != nil else {
            rules.refusals?.log(
                "an answer was dropped: too many wait for clients that don't read them", of: client, level: .warning,
                now: context.eventLoop.now, ["port": "\(rules.name)"])
            promise?.fail(ChannelError.ioOnClosedChannel)
            return breakOff(context)
        }
        promise?.succeed()
        head = nil
        isAnswering = false
        // Otherwise the end of what is being discarded already is still to come.
        if case .no = refusing { isRefusedWhole = receiving == nil }
        receiving = nil
        receiveBy = .distantFuture
        refusedBody?.release()
        refusedBody = unanswered.popFirst()?.body
        // Nothing behind it is answered: its connection ends.
        for index in unanswered.indices { unanswered[index].body?.release() }
        unanswered = []
        refusing = .waits(
            PortRefusal(.tooManyAnswers, isHEAD: request.isHEAD, request.headers, client, by: rules))
        refuseIfNext(context, after: context.eventLoop.makeSucceededVoidFuture())
    }

    /// Answers the refused request once all before it are answered.
    private func refuseIfNext(_ context: ChannelHandlerContext, after answered: EventLoopFuture<Void>) {
        guard unanswered.isEmpty, case .waits(let waiting) = refusing else { return }
        let sent = context.eventLoop.makePromise(of: Void.self)
        refusing = .sent(sent.futureResult)
        silentBy = context.eventLoop.now + rules.times.discard
        schedule(context)
        if let refusal = waiting { send(refusal, context, sent) } else { answered.cascade(to: sent) }
        closeAfterRefusal(context)
        read(context: context)
    }

    private func closeAfterRefusal(_ context: ChannelHandlerContext) {
        guard isRefusedWhole, case .sent(let sent) = refusing else { return }
        let channel = context.channel
        sent.whenComplete { _ in channel.close(promise: nil) }
    }

    private func send(
        _ refusal: PortRefusal, _ context: ChannelHandlerContext, _ sent: EventLoopPromise<Void>
    ) {
        refusal.log(by: rules, now: context.eventLoop.now)
        let body = refusal.body
        context.write(wrapOutboundOut(.head(refusal.head(bodyBytes: body.readableBytes))), promise: nil)
        if !refusal.isHEAD { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
    }

    // MARK: Time

    private var deadline: NIODeadline { min(receiveBy, silentBy) }

    /// The timer isn't moved with each request: it looks again when it is due.
    private func schedule(_ context: ChannelHandlerContext) {
        timer?.task.cancel()
        guard !hasEnded else { return }
        let due = min(deadline, context.eventLoop.now + rules.times.idle)
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: due) { [self] in check(context) }
        timer = (due, task)
    }

    private func check(_ context: ChannelHandlerContext) {
        let now = context.eventLoop.now
        if receiveBy <= now, let receiving, case .no = refusing {
            refuse(.tooSlow(rules.times.transfer), of: receiving, context)
        } else if deadline <= now {
            guard goesOn(context) else { return breakOff(context) }
            silentBy = now + rules.times.idle
        }
        if timer != nil, context.channel.isActive { schedule(context) }
    }

    /// Whether a connection stays open: the client takes what it is sent, or it has nothing to take and a request is
    /// being received or answered.
    private func goesOn(_ context: ChannelHandlerContext) -> Bool {
        if case .sent = refusing { return false }
        return switch pace.look(unsentBytes(context)) {
        case .nothing: !unanswered.isEmpty || receiving != nil
        case .enough: true
        case .tooLittle: false
        }
    }
}
