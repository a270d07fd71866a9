import DocumentModel
import DocumentStore
import NIOCore
import Sharing
import StrictJSON
import Synchronization

/// One session with its stream, and the connections of its back channels.
final class WebChannelSession: Sendable {
    /// The answer of a back channel that is being sent.
    private struct Output {
        /// Has an element when there may be something to send.
        let news: AsyncStream<Void>.Continuation
        /// The chunk that its client hasn't taken yet.
        var bytes = 0
    }

    private struct State {
        var channel: WebChannelState
        var outputs: [WebChannelState.BackChannelID: Output] = [:]
        /// The connections of back channels. With long polling, one has many of them, one after the other.
        var connections: [ObjectIdentifier: WebChannelState.BackChannelID] = [:]
        var nextBackChannel: WebChannelState.BackChannelID = 1
        var isPumping = false
        var mustPumpAgain = false
        /// What the session holds of the memory of all answers.
        var held = 0
        /// When the client was last there.
        var seen: ContinuousClock.Instant = .now
        /// Called once the session has ended and its client was sent all.
        var onEnd: (@Sendable () -> Void)?
    }

    let id: String
    /// Whose session it is, for the bounds on sessions.
    let owner: UInt64
    let requester: Requester
    private let answers: MemoryBudget?
    private let holder: MemoryBudget.Holder
    private let state: Mutex<State>
    private let endpoint: Mutex<(any StreamEndpoint)?> = Mutex(nil)
    /// Held while maps are handled, so that those of two requests stay in order.
    private let forward = Mutex(())

    /// - Parameter answers: the memory of all answers; nil for no bound.
    init(
        id: String, owner: UInt64, requester: Requester, limits: ClientLimits.WebChannel, answers: MemoryBudget? = nil,
        holder: MemoryBudget.Holder = .host
    ) {
        state = Mutex(State(channel: WebChannelState(limits)))
        self.id = id
        self.owner = owner
        self.requester = requester
        self.answers = answers
        self.holder = holder
    }

    deinit { answers?.release(state.withLock { $0.held }, of: holder) }

    /// Connects the session with its stream.
    func connect(_ endpoint: any StreamEndpoint) { self.endpoint.withLock { $0 = endpoint } }

    // MARK: Forward channels

    /// The SDK gives the message up.
    private static let tooLarge = DocumentError.invalidArgument("the message is larger than a request may be")
    /// It sends the rest again.
    private static let tooMuchAtOnce = DocumentError(
        .unavailable, "the messages are larger together than a request may be; send the rest again")

    /// - Parameters:
    ///   - lost: the number of the first map that was beyond the size of one request; nil for none.
    ///   - received: the number of the last array that the client has received.
    /// - Returns: nil if the maps can't be taken.
    func receive(
        _ maps: [(number: Int, text: [UInt8])], lost: Int? = nil, received: Int = .max
    ) -> [UInt8]? {
        let isTaken = forward.withLock { _ in
            let (ready, isTooLarge): ([[UInt8]]?, Bool) = state.withLock { state in
                state.seen = .now
                // By itself, and not together with those before.
                let isTooLarge = maps.isEmpty && lost.map { state.channel.isNext($0) } ?? false
                return (try? state.channel.receive(maps), isTooLarge)
            }
            if let endpoint = endpoint.withLock({ $0 }) {
                for map in ready ?? [] { endpoint.receive(map) }
                if lost != nil { endpoint.refuseRest(isTooLarge ? Self.tooLarge : Self.tooMuchAtOnce) }
            }
            return ready != nil
        }
        guard isTaken, hold(0) || mustDeliver && state.withLock({ $0.channel.earlyBytes == 0 }) else {
            terminate()
            return nil
        }
        return state.withLock { state in
            let channel = state.channel
            // If it is little and nothing arrives for 6 s, the SDK takes the back channel for dead and begins another.
            let bytes = channel.bytes(after: received)
            return WebChannelState.framed(
                Array("[\(channel.hasBackChannel ? 1 : 0),\(channel.lastNumber),\(bytes)]".utf8))
        }
    }

    // MARK: Back channels

    /// Opens a back channel.
    ///
    /// - Parameter connection: on which it is.
    /// - Returns: its number, and when it is worth asking ``next(for:)`` for more; nil if the session has ended.
    func open(
        isBuffered: Bool, acknowledged: Int, on connection: any Channel
    ) -> (id: UInt64, news: AsyncStream<Void>)? {
        let (news, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let key = ObjectIdentifier(connection)
        var isNew = false
        let id: UInt64? = change { state in
            state.channel.acknowledge(acknowledged)
            guard !state.channel.isDone else { return nil }
            state.seen = .now
            let id = state.nextBackChannel
            state.nextBackChannel += 1
            state.outputs[id] = Output(news: continuation)
            isNew = state.connections.updateValue(id, forKey: key) == nil
            state.channel.open(id, isBuffered: isBuffered)
            return id
        }
        guard let id else { return nil }
        if isNew { connection.closeFuture.whenComplete { [weak self] _ in self?.left(key) } }
        _ = hold(0)
        pump()
        return (id, news)
    }

    /// What a back channel's answer goes on with. Its memory is held until the next call, or ``closed(_:)``.
    func next(for backChannel: UInt64) -> WebChannelState.Next {
        let (next, isLittle) = state.withLock { state in
            let next = state.channel.next(for: backChannel)
            if case .chunk(let chunk) = next {
                state.outputs[backChannel]?.bytes = chunk.count
            } else {
                state.outputs[backChannel]?.bytes = 0
            }
            return (next, state.outputs.values.reduce(0) { $0 + $1.bytes } <= ClientAnswer.leastBytes)
        }
        guard !hold(0) else { return next }
        guard mustDeliver else {
            // The SDK opens another stream and resumes.
            terminate()
            return .end
        }
        if isLittle { return next }
        // The SDK opens the next back channel after some seconds, which begins with the same.
        state.withLock { state in
            state.outputs[backChannel]?.bytes = 0
            state.channel.withhold(from: backChannel)
        }
        return .end
    }

    /// A buffered back channel has been open for as long as it may be without an answer.
    func endQuietly(_ backChannel: UInt64) { change { $0.channel.endQuietly(backChannel) } }

    /// A connection is closed, and the back channel on it.
    private func left(_ connection: ObjectIdentifier) {
        let backChannel = state.withLock { $0.connections.removeValue(forKey: connection) }
        if let backChannel { closed(backChannel) }
    }

    /// The answer of a back channel has ended, or its connection.
    func closed(_ backChannel: UInt64) {
        change { state in
            state.channel.closed(backChannel)
            state.seen = .now
            state.outputs.removeValue(forKey: backChannel)?.news.finish()
        }
        _ = hold(0)
        reportEnd()
    }

    // MARK: What the stream sends

    /// Sends what the stream has, as far as there is room. Called whenever there may be something, on any thread.
    func pump() {
        let isMine = state.withLock { state in
            state.mustPumpAgain = state.isPumping
            defer { state.isPumping = true }
            return !state.isPumping
        }
        guard isMine else { return }
        while true {
            while state.withLock({ $0.channel.hasRoom }), let endpoint = endpoint.withLock({ $0 }) {
                let output = endpoint.take()
                guard !output.messages.isEmpty || output.isLast else { break }
                if !hold(output.messages.reduce(0) { $0 + $1.count }) {
                    guard endpoint.mustDeliver else {
                        refuse(endpoint)
                        break
                    }
                    endpoint.end(Self.tooManyAnswers)
                }
                change { state in
                    if output.isLast { state.channel.finish() }
                    state.channel.send(output.messages)
                }
            }
            let isDone = state.withLock { state in
                defer { state.mustPumpAgain = false }
                if !state.mustPumpAgain { state.isPumping = false }
                return !state.mustPumpAgain
            }
            if isDone { return }
        }
    }

    private static let tooMuchWaits = DocumentError(
        .resourceExhausted, "too much waits for this client, or for all; listen again later")

    private static let tooManyAnswers = DocumentError(
        .resourceExhausted, "too much waits for this client, or for all; send the rest later")

    private var mustDeliver: Bool { endpoint.withLock { $0 }?.mustDeliver ?? false }

    /// Ends the stream in place of what it has, which is too much. The SDK opens another one after about a minute, and
    /// resumes; if the session ended, it would do so at once, again and again.
    private func refuse(_ endpoint: any StreamEndpoint) {
        endpoint.fail(Self.tooMuchWaits)
        let end = endpoint.take().messages
        guard !end.isEmpty else { return terminate() }
        change { $0.channel.send(end) }
    }

    /// Counts what waits for its acknowledgement or for earlier maps, what is being sent, and what comes now.
    ///
    /// - Returns: false if it is too much.
    private func hold(_ bytes: Int) -> Bool {
        guard let answers else { return true }
        return state.withLock { state in
            let sending = state.outputs.values.reduce(0) { $0 + $1.bytes }
            let all = state.channel.unacknowledgedBytes + state.channel.earlyBytes + sending + bytes
            let wanted = all > ClientAnswer.leastBytes ? all : 0
            if wanted < state.held {
                answers.release(state.held - wanted, of: holder)
            } else if !answers.take(wanted - state.held, for: holder) {
                return false
            }
            state.held = wanted
            return true
        }
    }

    func keepAlive() { change { $0.channel.keepAlive() } }

    func terminate() {
        change { $0.channel.terminate() }
        let endpoint = endpoint.withLock { endpoint in
            defer { endpoint = nil }
            return endpoint
        }
        endpoint?.close()
        _ = hold(0)
        reportEnd()
    }

    /// Ends the stream with an error once what was received before is done, and the session once its client was sent
    /// all.
    ///
    /// - Parameter onEnd: called then, or once the session is terminated.
    /// - Returns: false if the client need not get all that was taken: the session can be terminated at once.
    func end(_ error: DocumentError, onEnd: @escaping @Sendable () -> Void) -> Bool {
        guard let endpoint = endpoint.withLock({ $0 }), endpoint.mustDeliver else { return false }
        endpoint.end(error)
        state.withLock { $0.onEnd = onEnd }
        reportEnd()
        return true
    }

    private func reportEnd() {
        let onEnd = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.channel.hasSentAll, state.outputs.isEmpty else { return nil }
            defer { state.onEnd = nil }
            return state.onEnd
        }
        onEnd?()
    }

    /// Whether the session has ended, or its client hasn't been there for some time.
    func isOver(at now: ContinuousClock.Instant, after patience: Duration) -> Bool {
        state.withLock { state in
            state.channel.isDone || !state.channel.hasBackChannel && now - state.seen > patience
        }
    }

    func decideAgain() { endpoint.withLock { $0 }?.decideAgain() }

    func refresh() { endpoint.withLock { $0 }?.refresh() }

    /// Ends the stream with an error, for its client to begin another.
    func fail(_ error: DocumentError) { endpoint.withLock { $0 }?.fail(error) }

    /// The same once what the client has sent before is done: of a write that is under way it would get no answer, and
    /// send it again.
    func refuseRest(_ error: DocumentError) { endpoint.withLock { $0 }?.refuseRest(error) }

    /// Changes the state, and lets the answers of back channels look for something to send.
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            defer { for output in state.outputs.values { output.news.yield() } }
            return body(&state)
        }
    }
}

/// A stream behind a session, in JSON.
protocol StreamEndpoint: Sendable {
    /// Receives a message of the client.
    func receive(_ text: [UInt8])
    /// Whether the client must get all that was taken: it sends a write again whose answer is lost.
    var mustDeliver: Bool { get }
    /// Takes what the stream sends; empty if there is nothing.
    func take() -> (messages: [[UInt8]], isLast: Bool)
    /// The rules have changed.
    func decideAgain()
    /// Tells the client how far it is, if nothing has changed.
    func refresh()
    /// Ends the stream with an error.
    func fail(_ error: DocumentError)
    /// Ends the stream with an error once what was received before is done.
    func refuseRest(_ error: DocumentError)
    /// The same, and the session with the stream. Called only if it must deliver.
    func end(_ error: DocumentError)
    func close()
}

extension StreamEndpoint {
    var mustDeliver: Bool { false }

    func refuseRest(_ error: DocumentError) { fail(error) }

    func end(_ error: DocumentError) { fail(error) }
}
