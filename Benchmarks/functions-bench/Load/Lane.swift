import NIOCore

/// One connection of a load and its caller: asks, waits for the answer, asks again.
///
/// Lives on its channel's event loop.
final class Lane: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What the lane has seen.
    struct Record: Sendable {
        /// Nanoseconds of each operation that went well, since they were last reset.
        var latencies: [Int64] = []
        var errors = 0
        var firstError: String?
    }

    private enum State {
        case idle
        case waiting(since: NIODeadline)
        case ended
    }

    private(set) var record = Record()
    private var caller: any Caller
    private var state = State.idle
    private var isStopping = false
    private var parser = AnswerParser()
    private var pending: ByteBuffer?
    private var context: ChannelHandlerContext?
    private let onEnd: EventLoopPromise<Void>

    /// - Parameter onEnd: succeeded once the caller has no more to do, was stopped or lost its connection.
    init(_ caller: any Caller, onEnd: EventLoopPromise<Void>) {
        self.caller = caller
        self.onEnd = onEnd
    }

    func start() {
        guard case .idle = state else { return }
        ask()
    }

    /// Lets the operation under way end, and begins no other.
    func stop() { isStopping = true }

    /// Forgets what was measured so far, but no error: one while warming up makes a benchmark void too.
    func resetLatencies() { record.latencies.removeAll(keepingCapacity: true) }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if pending != nil { pending?.writeBuffer(&bytes) } else { pending = bytes }
        do {
            // The buffer is handed over while it is read, so that reading does not copy it.
            guard var buffer = pending.take() else { return }
            while let answer = try parser.next(in: &buffer) { received(answer) }
            pending = buffer.readableBytes > 0 ? buffer : nil
        } catch {
            end(failure: "\(error)")
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(failure: "the server closed the connection")
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(failure: "\(error)")
        context.close(promise: nil)
    }

    private func ask() {
        guard !isStopping, let request = caller.next() else {
            end(failure: nil)
            return
        }
        state = .waiting(since: .now())
        send(request)
    }

    private func send(_ request: ByteBuffer) {
        context?.writeAndFlush(wrapOutboundOut(request), promise: nil)
    }

    private func received(_ answer: Answer) {
        guard case .waiting(let since) = state else { return }
        switch caller.received(answer) {
        case .ask(let request):
            send(request)
            return
        case .done: record.latencies.append((NIODeadline.now() - since).nanoseconds)
        case .failed(let reason): note(reason)
        }
        ask()
    }

    private func note(_ reason: String) {
        record.errors += 1
        record.firstError = record.firstError ?? reason
    }

    private func end(failure: String?) {
        if case .ended = state { return }
        if let failure { note(failure) }
        state = .ended
        onEnd.succeed(())
    }
}
