import NIOCore
import RealtimeModel
import Sharing

/// A session that polls: holds its polls, and switches to a WebSocket once its client does.
///
/// `@unchecked Sendable`: it is used on its session's loop only; other threads merely keep it until they are back there.
final class PollSession: RealtimeTransport, SocketReceiver, @unchecked Sendable {
    let connection: RealtimeConnection
    private let password: String
    private var polling: LongPollConnection
    /// The polls that aren't answered.
    private var polls: [LongPollConnection.PollID: Poll] = [:]
    private var lastPoll: LongPollConnection.PollID = 0
    /// Answers the polls that are held for long enough. There is one for all of them: a client may poll very often, and a
    /// timer for each poll would stay long after the poll's answer.
    private var holdTimer: Scheduled<Void>?
    /// Ends the session if its client doesn't poll, and removes it once it has ended.
    private var silence: Scheduled<Void>?
    private var collected: [UInt8] = []
    /// The WebSocket that takes over, or has done so.
    private var socket: WebSocketTransport?
    private var isSwitched = false
    /// Whether the session, which polls no more, is removed after a time.
    private var isLeaving = false
    private var isBrokenOff = false
    /// Messages that came by the WebSocket before the last one by poll.
    private var early: [(message: RealtimeMessage, bytes: Int)] = []
    private var earlyBytes = 0
    /// Messages of the client that the session doesn't have yet.
    private var heldReceived: HeldMemory?
    /// What the client hasn't fetched.
    private var heldUnsent: HeldMemory?

    /// A number that stands for the client's address.
    let address: UInt64

    private struct Poll {
        var answer: @Sendable ([UInt8]) -> Void
        /// Until when it is held.
        var end: NIODeadline
    }

    private var loop: RealtimeLoop { connection.loop }
    private var queue: ConnectionQueue { connection.queue }

    init(_ connection: RealtimeConnection, callback: String, password: String, address: UInt64) {
        self.connection = connection
        self.password = password
        self.address = address
        let parts = connection.loop.parts
        polling = LongPollConnection(callback: callback, maxMessageBytes: parts.limits.messageBytes)
        heldReceived = parts.bodies.map { HeldMemory($0, address: address) }
        heldUnsent = parts.answers.map { HeldMemory($0, address: address) }
    }

    // MARK: Requests. Called on any thread, but for the first.

    /// The first request. Called on the session's loop.
    ///
    /// - Parameter answer: receives the script, on any thread.
    func start(_ answer: @escaping @Sendable ([UInt8]) -> Void) {
        loop.parts.polls.add(self)
        loop.add(self)
        connection.begin(self)
        answer(polling.start(id: connection.key.session, password: password))
        waitForPoll()
    }

    /// - Returns: A function to call when the poll's connection closes; nil if the password is wrong.
    func poll(
        password: String, _ segments: [LongPollRequest.Segment], _ answer: @escaping @Sendable ([UInt8]) -> Void
    ) -> (@Sendable () -> Void)? {
        guard password == self.password else { return nil }
        let id = Mailed<LongPollConnection.PollID>()
        queue.post { [self] in
            lastPoll += 1
            let poll = lastPoll
            id.value = poll
            polls[poll] = Poll(answer: answer, end: loop.eventLoop.now + loop.parts.port.hold)
            if !polling.isEnded { silence?.cancel() }
            perform(polling.poll(poll, segments))
            // What didn't fit the answers before may now be sent.
            if !isSwitched { connection.transportIsReady() }
            watchPolls()
            waitForPoll()
        }
        return { [self] in
            queue.post { [self] in
                guard let poll = id.value, polls.removeValue(forKey: poll) != nil else { return }
                polling.left(poll)
                waitForPoll()
            }
        }
    }

    /// The page is left.
    func disconnect(password: String) -> Bool {
        guard password == self.password else { return false }
        queue.post { [self] in
            guard !isSwitched else { return }
            breakOff()
            remove()
        }
        return true
    }

    /// The port stops. Called on the session's loop.
    func stop() {
        guard !isSwitched else { return }
        perform(polling.end() + [.end])
    }

    private func watchPolls() {
        guard holdTimer == nil, let end = polls.values.map(\.end).min() else { return }
        holdTimer = loop.eventLoop.assumeIsolated().scheduleTask(deadline: end) { [self] in
            holdTimer = nil
            let now = loop.eventLoop.now
            for poll in polls.filter({ $0.value.end <= now }).keys.sorted() {
                perform(polling.holdEnded(poll))
                polls[poll] = nil
            }
            watchPolls()
        }
    }

    /// A session whose client doesn't poll any more ends.
    private func waitForPoll() {
        guard !polling.isEnded else { return }
        silence?.cancel()
        silence = nil
        guard !polling.isPolled else { return }
        silence = loop.eventLoop.assumeIsolated().scheduleTask(in: loop.parts.port.pollSilence) { [self] in
            breakOff()
            remove()
        }
    }

    /// An ended session stays as long as the polls that may be on their way: their answers have the last messages, and say that
    /// it has ended.
    private func waitForLastPolls() {
        silence?.cancel()
        silence = loop.eventLoop.assumeIsolated().scheduleTask(in: loop.parts.port.pollSilence) { [self] in remove() }
    }

    /// Ends the session without what waits for its client.
    private func breakOff() {
        guard !isBrokenOff else { return }
        isBrokenOff = true
        collected = []
        perform(polling.abort() + [.end])
    }

    private func remove() {
        silence?.cancel()
        silence = nil
        loop.parts.polls.remove(self)
        loop.remove(self)
        _ = polling.abort()
        heldUnsent?.release()
        heldReceived?.release()
    }

    private func perform(_ actions: [LongPollConnection.Action]) {
        for action in actions {
            switch action {
            case .answer(let poll, let script):
                polls.removeValue(forKey: poll)?.answer(script)
                waitForPoll()
            case .receive(let bytes): receive(RealtimeMessage(bytes), bytes.count)
            case .read(let text):
                loop.parts.longWork.add(of: address) { [self] in
                    let message = LongPollConnection.decode(text).map { (RealtimeMessage($0), $0.count) }
                    queue.post { self.didRead(message) }
                }
            case .refuse(let number): receive(.request(number: number, .invalid(.tooMuchToWrite)), 0)
            case .end:
                connection.finish()
                socket?.abort()
            case .switchTransport: switchTransport()
            }
        }
        if polling.isEnded, !isLeaving {
            isLeaving = true
            waitForLastPolls()
        }
        hold()
    }

    private func didRead(_ message: (RealtimeMessage, Int)?) {
        let more = polling.didRead()
        guard let (message, bytes) = message else { return perform(polling.end() + [.end]) }
        // From here on the session holds it.
        hold()
        receive(message, bytes)
        perform(more)
    }

    private func receive(_ message: RealtimeMessage, _ bytes: Int) {
        connection.receive(message, bytes: bytes)
        // It has been asked to wait by polls that aren't answered.
        if connection.isOverfull, !isSwitched { breakOff() }
    }

    /// Counts what is in memory for the client among what is for all, and ends the session if it is too much.
    private func hold() {
        let isHeld =
            heldReceived?.adjust(to: polling.heldBytes + earlyBytes, identify: { connection.memoryHolder }) ?? true
        let unsent = polling.waitingBytes + collected.count
        guard isHeld, heldUnsent?.adjust(to: unsent, identify: { connection.memoryHolder }) ?? true else {
            if !polling.isEnded || isSwitched { breakOff() }
            return
        }
    }

    // MARK: Transport. Once the session has switched, the rest of a value that was being sent.

    /// What the client hasn't fetched is bounded like the pushes of a WebSocket.
    var isReady: Bool {
        isSwitched ? socket?.isReady ?? false : !polling.isEnded && polling.waitingBytes < 262_144
    }

    func send(_ message: [UInt8]) {
        guard isSwitched else { return perform(polling.send(message)) }
        socket?.send(message)
        hold()
    }

    func send(_ push: RealtimePush, tag: Int64?) { send(push.message(tag: tag)) }

    func beginParts(units: Int) { collected = [] }

    func sendPart(_ part: [UInt8]) {
        collected += part
        hold()
    }

    func endParts() {
        let message = collected
        collected = []
        send(message)
    }

    func flush() { if isSwitched { socket?.flush() } }

    func setReading(_ isReading: Bool) {
        socket?.setReading(isReading)
        perform(polling.setReading(isReading))
    }

    func close() {
        perform(polling.end())
        // One that was offered doesn't take over any more.
        if !isSwitched { socket?.abort() }
    }

    func abort() {
        collected = []
        socket?.abort()
        perform(polling.abort())
    }

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
        connection.replaceTransport(socket)
        let messages = early
        early = []
        earlyBytes = 0
        for (message, bytes) in messages { connection.receive(message, bytes: bytes) }
    }

    func receive(_ message: RealtimeMessage, bytes: Int) {
        if isSwitched { return connection.receive(message, bytes: bytes) }
        switch message {
        case .ping:
            // A client that takes nothing isn't answered: nothing else bounds these answers.
            guard let socket, socket.isReady else { return }
            socket.send(ServerMessage.control("o"))
            socket.flush()
        case .switchTransport: perform(polling.confirmUpgrade())
        case .invalid: socket?.abort()
        default:
            early.append((message, bytes))
            earlyBytes += bytes
            let limits = loop.parts.limits
            // Reading goes on once the session has them.
            if early.count > limits.waitingRequests || earlyBytes > limits.waitingBytes { socket?.setReading(false) }
            hold()
        }
    }

    func socketIsReady() {
        if isSwitched { connection.transportIsReady() }
    }

    func socketClosed() {
        // Its handler holds this session.
        socket = nil
        if isSwitched { return connection.finish() }
        early = []
        earlyBytes = 0
        polling.withdrawUpgrade()
        hold()
    }
}

extension RealtimeMessage {
    fileprivate init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { RealtimeMessage(parsing: $0) } }
}

/// A value that one call sets on a loop and a later one reads there.
private final class Mailed<Value: Sendable>: @unchecked Sendable {
    // Both calls are on one loop.
    var value: Value?
}
