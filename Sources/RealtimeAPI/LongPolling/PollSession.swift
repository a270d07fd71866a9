import NIOCore
import RealtimeModel

/// A session that polls: holds its polls, and switches to a WebSocket once its client does.
///
/// `@unchecked Sendable`: it is used on its session's loop only; other threads merely keep it until they are back there.
final class PollSession: RealtimeTransport, SocketReceiver, @unchecked Sendable {
    let connection: RealtimeConnection
    private let password: String
    private var polling: LongPollConnection
    private var answers: [LongPollConnection.PollID: @Sendable ([UInt8]) -> Void] = [:]
    private var lastPoll: LongPollConnection.PollID = 0
    private var silence: Scheduled<Void>?
    private var collected: [UInt8] = []
    /// The WebSocket that takes over, or has done so.
    private var socket: WebSocketTransport?
    private var isSwitched = false
    /// Messages that came by the WebSocket before the last one by poll.
    private var early: [(message: RealtimeMessage, bytes: Int)] = []
    private var earlyBytes = 0

    private var loop: RealtimeLoop { connection.loop }

    init(_ connection: RealtimeConnection, callback: String, password: String) {
        self.connection = connection
        self.password = password
        polling = LongPollConnection(callback: callback, maxMessageBytes: connection.loop.parts.limits.messageBytes)
    }

    // MARK: Requests. Called on any thread.

    /// The first request.
    ///
    /// - Parameter answer: receives the script, on any thread.
    func start(_ answer: @escaping @Sendable ([UInt8]) -> Void) {
        loop.post { [self] in
            connection.begin(self)
            answer(polling.start(id: connection.key.session, password: password))
            waitForPoll()
        }
    }

    /// - Returns: A function to call when the poll's connection closes; nil if the password is wrong.
    func poll(
        password: String, _ segments: [LongPollRequest.Segment], _ answer: @escaping @Sendable ([UInt8]) -> Void
    ) -> (@Sendable () -> Void)? {
        guard password == self.password else { return nil }
        let id = Mailed<LongPollConnection.PollID>()
        loop.post { [self] in
            lastPoll += 1
            let poll = lastPoll
            id.value = poll
            answers[poll] = answer
            silence?.cancel()
            perform(polling.poll(poll, segments))
            // What didn't fit the answers before may now be sent.
            if !isSwitched { connection.transportIsReady() }
            let hold = loop.parts.port.hold
            if polling.isPolled {
                _ = loop.eventLoop.assumeIsolated().scheduleTask(in: hold) { [self] in perform(polling.holdEnded(poll))
                }
            }
            waitForPoll()
        }
        return { [self] in
            loop.post { [self] in
                guard let poll = id.value, answers.removeValue(forKey: poll) != nil else { return }
                polling.left(poll)
                waitForPoll()
            }
        }
    }

    /// The page is left.
    func disconnect(password: String) -> Bool {
        guard password == self.password else { return false }
        loop.post { [self] in
            guard !isSwitched else { return }
            perform(polling.end() + [.end])
        }
        return true
    }

    /// A session whose client doesn't poll any more ends.
    private func waitForPoll() {
        silence?.cancel()
        silence = nil
        guard !polling.isPolled, !isSwitched, !polling.isEnded else { return }
        silence = loop.eventLoop.assumeIsolated().scheduleTask(in: loop.parts.port.pollSilence) { [self] in
            perform(polling.end() + [.end])
        }
    }

    private func perform(_ actions: [LongPollConnection.Action]) {
        for action in actions {
            switch action {
            case .answer(let poll, let script):
                answers.removeValue(forKey: poll)?(script)
                waitForPoll()
            case .receive(let bytes):
                let message = bytes.withUnsafeBytes { RealtimeMessage(parsing: $0) }
                connection.receive(message, bytes: bytes.count)
            case .end:
                silence?.cancel()
                connection.finish()
                socket?.abort()
            case .switchTransport: switchTransport()
            }
        }
    }

    // MARK: Transport

    /// What the client hasn't fetched is bounded like the pushes of a WebSocket.
    var isReady: Bool { !polling.isEnded && polling.waitingBytes < 262_144 }

    func send(_ message: [UInt8]) { perform(polling.send(message)) }

    func send(_ push: RealtimePush, tag: Int64?) { send(push.message(tag: tag)) }

    func beginParts(units: Int) { collected = [] }

    func sendPart(_ part: [UInt8]) { collected += part }

    func endParts() {
        let message = collected
        collected = []
        send(message)
    }

    func flush() {}

    func setReading(_ isReading: Bool) { socket?.setReading(isReading) }

    func close() { perform(polling.end()) }

    func abort() { perform(polling.end()) }

    // MARK: Upgrade

    /// A WebSocket names the session. Called on the session's loop.
    ///
    /// - Returns: false if it can't take over.
    func offer(_ socket: WebSocketTransport) -> Bool {
        guard polling.offerUpgrade() else { return false }
        self.socket = socket
        return true
    }

    private func switchTransport() {
        guard let socket else { return }
        isSwitched = true
        silence?.cancel()
        connection.replaceTransport(socket)
        let messages = early
        early = []
        for (message, bytes) in messages { connection.receive(message, bytes: bytes) }
    }

    func receive(_ message: RealtimeMessage, bytes: Int) {
        if isSwitched { return connection.receive(message, bytes: bytes) }
        switch message {
        case .ping:
            socket?.send(ServerMessage.control("o"))
            socket?.flush()
        case .switchTransport: perform(polling.confirmUpgrade())
        case .invalid: socket?.abort()
        default:
            early.append((message, bytes))
            earlyBytes += bytes
            if earlyBytes > loop.parts.limits.messageBytes { socket?.abort() }
        }
    }

    func socketIsReady() {
        if isSwitched { connection.transportIsReady() }
    }

    func socketClosed() {
        if isSwitched { return connection.finish() }
        socket = nil
        early = []
        polling.withdrawUpgrade()
    }
}

/// A value that one call sets on a loop and a later one reads there.
private final class Mailed<Value: Sendable>: @unchecked Sendable {
    // Both calls are on one loop.
    var value: Value?
}
