import NIOCore

/// One connection of a load and its caller: sends a request, waits for the response, sends the next.
///
/// Must be used on its channel's event loop.
final class LoadConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The measurements of one connection.
    struct Record: Sendable {
        /// Nanoseconds of each successful operation since the last reset.
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
    private var parser = ResponseParser()
    private var pending: ByteBuffer?
    private var context: ChannelHandlerContext?
    private let onEnd: EventLoopPromise<Void>

    /// - Parameter onEnd: succeeded once the caller has no more operations, was stopped or lost its connection.
    init(_ caller: any Caller, onEnd: EventLoopPromise<Void>) {
        self.caller = caller
        self.onEnd = onEnd
    }

    func start() {
        guard case .idle = state else { return }
        ask()
    }

    /// Ends after the current operation.
    func stop() { isStopping = true }

    /// Discards the latencies so far, but keeps errors: an error during the warm-up invalidates a benchmark, too.
    func resetLatencies() { record.latencies.removeAll(keepingCapacity: true) }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if pending != nil { pending?.writeBuffer(&bytes) } else { pending = bytes }
        do {
            // The buffer is moved out while it is read, so that reading doesn't copy it.
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

    private func received(_ answer: LoadResponse) {
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
