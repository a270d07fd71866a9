import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

/// One exchange that is under way. It receives what its connection reports.
final class OpenExchange: HTTPClientResponseDelegate {
    typealias Outcome = Result<OutboundResponse, OutboundError>
    typealias Request = HTTPClient.Task<Void>
    typealias Start = @Sendable (OpenExchange) -> Request

    private struct State {
        var exchange: Exchange
        /// Ends the exchange at its deadline.
        var watch: Task<Void, Never>
        var completion: @Sendable (Outcome) -> Void
        var attempts = 0
        /// The latest attempt.
        var request: Request?
    }

    /// The caller of `send` has refused the rest of the response.
    struct RestIsUnwanted: Error {}

    private let clock: ExchangeClock
    /// Nil before the exchange begins and after it has ended. The code that sets it to nil completes the exchange.
    private let state = Mutex<State?>(nil)

    init(_ clock: ExchangeClock) { self.clock = clock }

    /// - Returns: the watch, which ends once it has ended the exchange or isn't needed any more.
    @discardableResult
    func begin(_ exchange: Exchange, _ completion: @escaping @Sendable (Outcome) -> Void) -> Task<Void, Never> {
        state.withLock { state in
            // However soon the watch runs, it waits for this lock and finds the exchange.
            let watch = Task { await self.watch() }
            state = State(exchange: exchange, watch: watch, completion: completion)
            return watch
        }
    }

    /// Sends the request, unless the exchange has ended.
    func send(_ start: @escaping Start) {
        let isWanted = state.withLock { state in
            state?.attempts += 1
            return state != nil
        }
        guard isWanted else { return }
        let request = start(self)
        let isOpen = state.withLock { state in
            state?.request = request
            return state != nil
        }
        if !isOpen { request.cancel() }
        request.futureResult.whenComplete { result in
            switch result {
            case .success: self.complete(with: nil)
            case .failure(let error): self.fail(error, start)
            }
        }
    }

    /// Ends the wait for a response at once.
    func end(with error: OutboundError) {
        guard let ended = remove() else { return }
        ended.request?.cancel()
        ended.completion(ended.exchange.end(with: error))
    }

    /// Waits for the deadline, which each byte moves, and ends the exchange then.
    private func watch() async {
        while let deadline = state.withLock({ $0?.exchange.deadline }) {
            guard (try? await clock.sleep(deadline)) != nil else { return }
            let error = state.withLock { $0?.exchange.expiry(at: clock.now()) }
            if let error { end(with: error) }
        }
    }

    private func remove() -> State? {
        let removed = state.withLock { state in
            defer { state = nil }
            return state
        }
        removed?.watch.cancel()
        return removed
    }

    /// - Returns: whether more is wanted.
    private func receive(_ bytes: ByteBufferView) -> Bool {
        // The caller's code runs without the lock.
        if let receive = state.withLock({ $0?.exchange.receiver(at: clock.now()) }) { return receive(Array(bytes)) }
        return state.withLock { $0?.exchange.receive(bytes, at: clock.now()) ?? false }
    }

    /// A part of the request was sent.
    func sent() { state.withLock { $0?.exchange.sent() } }

    /// The request has failed.
    ///
    /// - Parameter start: sends it once more, which it may need: a service may close an idle connection just as it is
    ///   used, and a connection that fails takes along those that wait for one to the same host.
    func fail(_ error: any Error, _ start: Start? = nil) {
        let isRepeated = state.withLock { state in
            guard let state else { return false }
            return state.attempts == 1 && state.exchange.isRepeatable && error.mayBeOver
        }
        if let start, isRepeated { return send(start) }
        complete(with: error)
    }

    private func complete(with error: (any Error)?) {
        guard let ended = remove() else { return }
        let host = ended.exchange.host
        ended.completion(ended.exchange.end(with: error.map { OutboundError($0, host: host) }))
    }

    func didSendRequestHead(task: Request, _ head: HTTPRequestHead) { sent() }

    func didReceiveHead(task: Request, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let (status, headers) = (Int(head.status.code), head.headers.joined)
        state.withLock { $0?.exchange.receiveHead(status: status, headers: headers, at: clock.now()) }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: Request, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        receive(buffer.readableBytesView)
            ? task.eventLoop.makeSucceededVoidFuture() : task.eventLoop.makeFailedFuture(RestIsUnwanted())
    }

    /// The request's future brings the outcome.
    func didFinishRequest(task: Request) {}
}

extension HTTPHeaders {
    /// The values by name; those of one name, in whatever case, are joined by commas.
    fileprivate var joined: [String: String] {
        var names: [String: String] = [:]
        var values: [String: String] = [:]
        for (name, value) in self {
            let first = names[name.lowercased(), default: name]
            names[name.lowercased()] = first
            values[first] = values[first].map { $0 + ", " + value } ?? value
        }
        return values
    }
}
