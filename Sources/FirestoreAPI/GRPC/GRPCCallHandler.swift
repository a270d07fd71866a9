import DocumentModel
import NIOCore
import NIOHPACK
import NIOHTTP2
import Sharing
import SwiftProtobuf

/// One call on an HTTP/2 stream: reads its messages and gives them to the method, in order, and writes what it answers.
///
/// Leaves streams with other requests, such as gRPC-Web and REST, to other handlers: clients send them over HTTP/2 once a
/// handshake of TLS offers it.
final class GRPCCallHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private enum State {
        case waitingForHeaders
        case receiving(any GRPCMethod)
        /// No more is read; the method ends the call once what it has is done.
        case ending(any GRPCMethod)
        /// The call is answered, or its client has left.
        case ended
    }

    private let service: FirestoreCalls
    private let peer: SocketAddress?
    private let serveRequest: @Sendable (any Channel) throws -> Void
    private var state = State.waitingForHeaders
    private var reader: GRPCMessageReader
    private let output: StreamOutput
    private var answer: GRPCAnswer?
    private var deadline: Scheduled<Void>?
    /// What an incomplete message holds of the memory of all.
    private var held: HeldMemory?
    private var identify: () -> MemoryBudget.Holder? = { nil }
    private var transfer: Scheduled<Void>?
    /// Until when a call with one message must have sent it; nil once it has.
    private var due: NIODeadline?
    /// A number that stands for the client's address.
    private var address: UInt64 = 0
    /// Whether the call is counted among the open ones.
    private var isCounted = false

    /// Messages up to this size aren't counted.
    private static let leastBytes = 4 * 1024

    /// - Parameters:
    ///   - output: of the stream.
    ///   - serveRequest: adds the handlers of a stream with any other request.
    init(
        _ service: FirestoreCalls, peer: SocketAddress?, _ output: StreamOutput,
        serveRequest: @escaping @Sendable (any Channel) throws -> Void
    ) {
        self.service = service
        self.peer = peer
        self.output = output
        self.serveRequest = serveRequest
        reader = GRPCMessageReader(maxBytes: service.limits.messageBytes)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let frame):
            if case .waitingForHeaders = state {
                let headers = CallHeaders(frame.headers)
                let client = service.address(of: peer, headers)
                address = client ?? 0
                identify = { [service] in service.principals.holder(headers.authorization) }
                output.begin { [identify, address] in identify() ?? .stranger(address) }
                guard headers.isGRPC else { return leave(data, context) }
                begin(headers, from: client, context)
            }
            if frame.endStream { end(context) }
        case .data(let frame):
            guard case .receiving(let method) = state, case .byteBuffer(let bytes) = frame.data else { break }
            reader.append(bytes)
            guard hold() else {
                return refuse(
                    DocumentError(
                        .resourceExhausted, "too many large requests are under way for this caller, or for all"))
            }
            do throws(GRPCMessageReader.Problem) {
                while let message = try reader.next() {
                    endTransfer()
                    if !method.isSingle {
                        // They count where they wait; a call's one message is held until its answer was sent.
                        _ = hold()
                    }
                    method.receive(message)
                }
            } catch {
                switch error {
                case .compressed:
                    fail(DocumentError(.unimplemented, "compressed messages aren't supported; send identity"))
                case .tooLarge(let bytes):
                    // Not RESOURCE_EXHAUSTED, after which SDKs send a write again and again, and no other behind it.
                    refuse(
                        .invalidArgument(
                            "the message has \(bytes) bytes, more than \(service.limits.messageBytes), the limit"))
                }
            }
            watchTransfer(context)
            if frame.endStream { end(context) }
        default: break
        }
    }

    private func leave(_ headers: NIOAny, _ context: ChannelHandlerContext) {
        do {
            try serveRequest(context.channel)
        } catch {
            return context.close(promise: nil)
        }
        context.fireChannelRead(headers)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    /// A message that has begun must arrive within some time.
    private func watchTransfer(_ context: ChannelHandlerContext) {
        guard reader.count > 0 else { return endTransfer() }
        guard transfer == nil, case .receiving = state else { return }
        let time = TimeAmount.seconds(Int64(service.limits.transferSeconds))
        transfer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [weak self] in
            self?.refuse(DocumentError(.deadlineExceeded, "the message didn't arrive in time"))
        }
    }

    /// Looks whether a call with one message has sent it. Most have at once, so that a timer for each would cost more.
    func look(now: NIODeadline) {
        guard let due, now >= due else { return }
        fail(DocumentError(.deadlineExceeded, "the request didn't end in time"))
    }

    /// The host stops, and closes the connection soon: a write that came just before would be done and not answered.
    func stop() { _ = endAfterWaiting(.hostStops) }

    private func endTransfer() {
        transfer?.cancel()
        transfer = nil
    }

    /// Counts what waits for the rest of its message.
    ///
    /// - Returns: false if it is too much.
    private func hold() -> Bool {
        guard let budget = service.bodies else { return true }
        let wanted = reader.count > Self.leastBytes ? reader.count : 0
        let already = held?.bytes ?? 0
        guard wanted > already else {
            if case .receiving(let method) = state, method.isSingle { return true }
            return held?.adjust(to: wanted, identify: identify) ?? true
        }
        if held == nil { held = HeldMemory(budget, address: address) }
        return held?.take(wanted - already, identify: identify) ?? true
    }

    private func begin(_ headers: CallHeaders, from client: UInt64?, _ context: ChannelHandlerContext) {
        let answer = GRPCAnswer(context.channel)
        self.answer = answer
        guard headers.method == "POST", headers.isCall else {
            state = .ended
            let response = HTTP2Frame.FramePayload.headers(.init(headers: [":status": "415"], endStream: true))
            return context.writeAndFlush(wrapOutboundOut(response), promise: nil)
        }
        guard !service.isForeign(headers) else { return fail(PrincipalReader.foreignOwner) }
        guard service.open.add(of: address) else {
            return fail(DocumentError(.resourceExhausted, "too many calls are open, of this client or of all"))
        }
        isCounted = true
        guard let method = service.method(headers, from: client, answer) else {
            return fail(DocumentError(.unimplemented, "there is no method \(headers.path)"))
        }
        state = .receiving(method)
        if method.isSingle { due = context.eventLoop.now + .seconds(Int64(service.limits.transferSeconds)) }
        if let timeout = headers.timeout.flatMap(GRPCTimeout.amount) {
            deadline = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { [weak self] in
                self?.fail(DocumentError(.deadlineExceeded, "the call's deadline has passed"))
            }
        }
    }

    private func end(_ context: ChannelHandlerContext) {
        guard case .receiving(let method) = state else { return }
        guard reader.count == 0 else {
            return fail(DocumentError(.internal, "the call ended within a message"))
        }
        due = nil
        method.finish()
    }

    private func fail(_ error: DocumentError) {
        cancel()
        stopReading()
        answer?.end(error, closes: true)
    }

    /// Receives nothing more. A method that can ends the call once all before is done: of a write that is under way its
    /// client would get no answer, and send it again.
    private func refuse(_ error: DocumentError) { if !endAfterWaiting(error) { fail(error) } }

    /// - Returns: false if the method can't end so, which goes on then.
    private func endAfterWaiting(_ error: DocumentError) -> Bool {
        guard case .receiving(let method) = state, method.refuse(error) else { return false }
        stopReading()
        state = .ending(method)
        return true
    }

    private func cancel() {
        switch state {
        case .receiving(let method), .ending(let method): method.cancel()
        case .waitingForHeaders, .ended: break
        }
    }

    private func stopReading() {
        state = .ended
        due = nil
        reader = GRPCMessageReader()
        endTransfer()
        held?.release()
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        endTransfer()
        held?.release()
        if isCounted { service.open.remove(of: address) }
        isCounted = false
        cancel()
        state = .ended
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if case .receiving(let method) = state, context.channel.isWritable { method.isWritable() }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// A method while it is called. All but `isWritable` is called on the event loop.
protocol GRPCMethod: AnyObject, Sendable {
    /// Whether it takes one message.
    var isSingle: Bool { get }
    func receive(_ message: ByteBuffer)
    /// The next message can't be taken, and no other follows.
    ///
    /// - Returns: whether the method ends the call with the error, once all before is done.
    func refuse(_ error: DocumentError) -> Bool
    /// No message follows.
    func finish()
    /// The client has left, or its deadline has passed.
    func cancel()
    func isWritable()
}

extension GRPCMethod {
    func refuse(_ error: DocumentError) -> Bool { false }
}
