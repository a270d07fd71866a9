import DequeModule
package import NIOCore
package import NIOHTTP1
import Semaphore
import WorkerProtocol

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
        /// The memory of its body.
        var body: HeldMemory
    }

    private enum Refusing {
        case no
        /// Nothing more is handed to the server. The refusal, if there is one, waits for the answers before it.
        case waits(LocalHosts.Refusal?)
        /// The refusal is sent; the rest of its request is read and discarded, since closing with unread bytes resets
        /// the connection, and the client would lose the answer.
        case sent(EventLoopFuture<Void>)
    }

    private let rules: PortRules
    private var unanswered: Deque<Request> = []
    /// The head of the request whose rest is still to come. It is the last of the unanswered ones, unless the server has
    /// answered it already.
    private var receiving: HTTPRequestHead?
    private var refusing = Refusing.no
    /// Whether all of the refused request was read.
    private var isRefusedWhole = false
    /// Whether the server has begun to answer the first of the unanswered requests.
    private var isAnswering = false
    /// The head of an answer to HEAD that names no length, until the answer's length is known.
    private var head: HTTPResponseHead?
    private var length = 0

    /// When the request has to be complete.
    private var receiveBy = NIODeadline.distantFuture
    /// When the connection has been silent for too long.
    private var silentBy = NIODeadline.distantFuture
    private var timer: Scheduled<Void>?

    package init(_ rules: PortRules) { self.rules = rules }

    package func handlerAdded(context: ChannelHandlerContext) {
        silentBy = context.eventLoop.now + rules.times.idle
        schedule(context)
    }

    package func handlerRemoved(context: ChannelHandlerContext) { end() }

    package func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        timer?.cancel()
        timer = nil
        for index in unanswered.indices { unanswered[index].body.giveBack() }
    }

    // MARK: In

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        guard case .no = refusing else {
            if case .end = part {
                isRefusedWhole = true
                closeAfterRefusal(context)
            }
            return
        }
        switch part {
        case .head(let head):
            if let refusal = rules.refusal(of: head) { return refuse(refusal, context) }
            let address = rules.caller.address(context.remoteAddress, head.headers)
            unanswered.append(
                Request(isHEAD: head.method == .HEAD, body: HeldMemory(rules.memory.bodies, address: address)))
            receiving = head
            receiveBy = context.eventLoop.now + rules.times.transfer
        case .body(let bytes):
            guard let receiving, !unanswered.isEmpty else { break }
            let isHeld = unanswered[unanswered.count - 1].body.take(bytes.readableBytes) {
                rules.caller.user(receiving.headers)
            }
            guard isHeld else { return refuse(.tooManyBodies, context) }
        case .end:
            receiving = nil
            receiveBy = .distantFuture
        }
        context.fireChannelRead(data)
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // The server asks for more only if it wants more.
        if case .sent = refusing { context.read() }
    }

    /// Refuses the request that is being received.
    private func refuse(_ refusal: LocalHosts.Refusal, _ context: ChannelHandlerContext) {
        if receiving != nil {
            receiving = nil
            receiveBy = .distantFuture
            // A server that answers already is left to end its answer.
            if unanswered.count == 1, isAnswering { return refusing = .waits(nil) }
            var request = unanswered.popLast()
            request?.body.giveBack()
            refusing = .waits(request == nil ? nil : refusal)
        } else {
            refusing = .waits(refusal)
        }
        refuseIfNext(context, after: context.eventLoop.makeSucceededVoidFuture())
    }

    // MARK: Out

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // The server doesn't know of the refusal.
        if case .sent = refusing { return promise?.succeed() ?? () }
        let part = unwrapOutboundIn(data)
        let isHEAD = unanswered.first?.isHEAD ?? false
        silentBy = context.eventLoop.now + rules.times.idle
        switch part {
        case .head(let head) where head.status.code >= 200:
            isAnswering = true
            guard isHEAD else { return context.write(data, promise: promise) }
            self.head = head
            length = 0
            promise?.succeed()
        case .body(let bytes) where isHEAD:
            length += bytes.readableBytes
            promise?.succeed()
        case .body(let bytes): writeBody(bytes.readableBytes, data, context, promise)
        case .end:
            if var head {
                if !head.headers.contains(name: "Content-Length") {
                    head.headers.remove(name: "Transfer-Encoding")
                    head.headers.add(name: "Content-Length", value: "\(length)")
                }
                self.head = nil
                context.write(wrapOutboundOut(.head(head)), promise: nil)
            }
            let answered = promise ?? context.eventLoop.makePromise(of: Void.self)
            context.write(data, promise: answered)
            isAnswering = false
            if var request = unanswered.popFirst() { request.body.giveBack() }
            refuseIfNext(context, after: answered.futureResult)
        default: context.write(data, promise: promise)
        }
    }

    /// A large answer counts until its client has taken it.
    private func writeBody(
        _ count: Int, _ data: NIOAny, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?
    ) {
        guard rules.countsAnswers, count > Self.largeAnswer else { return context.write(data, promise: promise) }
        var held = HeldMemory(rules.memory.answers, address: rules.caller.address(context.remoteAddress, [:]))
        guard held.take(count, identify: { nil }) else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return context.close(promise: nil)
        }
        let sent = promise ?? context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenComplete { _ in held.giveBack() }
        context.write(data, promise: sent)
    }

    private static let largeAnswer = 65_536

    /// Answers the refused request once all before it are answered.
    private func refuseIfNext(_ context: ChannelHandlerContext, after answered: EventLoopFuture<Void>) {
        guard unanswered.isEmpty, case .waits(let waiting) = refusing else { return }
        let sent = context.eventLoop.makePromise(of: Void.self)
        refusing = .sent(sent.futureResult)
        silentBy = context.eventLoop.now + rules.times.discard
        timer?.cancel()
        schedule(context)
        if let refusal = waiting { send(refusal, context, sent) } else { answered.cascade(to: sent) }
        closeAfterRefusal(context)
        context.read()
    }

    private func closeAfterRefusal(_ context: ChannelHandlerContext) {
        guard isRefusedWhole, case .sent(let sent) = refusing else { return }
        let channel = context.channel
        sent.whenComplete { _ in channel.close(promise: nil) }
    }

    private func send(
        _ refusal: LocalHosts.Refusal, _ context: ChannelHandlerContext, _ sent: EventLoopPromise<Void>
    ) {
        let body = ByteBuffer(bytes: refusal.json)
        let headers: HTTPHeaders = [
            "Content-Type": "application/json; charset=utf-8", "Content-Length": "\(body.readableBytes)",
            "Connection": "close",
        ]
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: refusal.status, headers: headers))),
            promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
    }

    // MARK: Time

    private var deadline: NIODeadline {
        // A server that is about to answer has all the time it wants.
        let isWorking = !unanswered.isEmpty && !isAnswering && receiving == nil
        return min(receiveBy, isWorking || receiving != nil ? .distantFuture : silentBy)
    }

    /// The timer isn't moved with each request: it looks again when it is due.
    private func schedule(_ context: ChannelHandlerContext) {
        let due = min(deadline, context.eventLoop.now + rules.times.idle)
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: due) { [self] in check(context) }
    }

    private func check(_ context: ChannelHandlerContext) {
        let now = context.eventLoop.now
        if receiveBy <= now, case .no = refusing {
            refuse(.tooSlow(rules.times.transfer), context)
        } else if deadline <= now {
            return context.close(promise: nil)
        }
        if timer != nil, context.channel.isActive { schedule(context) }
    }

    /// Puts the handler where a server's own handlers can't: it is to see the requests as they were sent.
    package final class Installer: ChannelInboundHandler, RemovableChannelHandler {
        package typealias InboundIn = Any

        private let rules: PortRules

        package init(_ rules: PortRules) { self.rules = rules }

        package func handlerAdded(context: ChannelHandlerContext) {
            do {
                let pipeline = context.pipeline.syncOperations
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
                try pipeline.addHandler(PortHandler(rules), position: .after(decoder))
                pipeline.removeHandler(self, promise: nil)
            } catch {
                // Without the handler no request may be answered.
                context.close(promise: nil)
            }
        }
    }
}

extension LocalHosts.Refusal {
    fileprivate static let tooManyBodies = Self(
        status: .serviceUnavailable, message: InvocationFailure.tooManyBodies.message)

    fileprivate static func tooSlow(_ time: TimeAmount) -> Self {
        Self(
            status: .requestTimeout,
            message: "The request didn't arrive within \(time.nanoseconds / 1_000_000_000) s.")
    }
}
