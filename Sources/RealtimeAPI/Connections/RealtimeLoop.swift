import NIOCore
import Synchronization

/// What the connections of one event loop share, and the mailbox by which the databases' threads reach them.
///
/// `@unchecked Sendable`: all but the mailbox is used on the loop only.
final class RealtimeLoop: @unchecked Sendable {
    /// What is to be done on the loop.
    enum Item: Sendable {
        case event(any LoopListener, RealtimeListenEvent)
        case call(@Sendable () -> Void)

        var isPush: Bool { if case .event(_, .push) = self { true } else { false } }
    }

    private struct Mailbox {
        var turns = ConnectionTurns()
        var isScheduled = false
    }

    let eventLoop: any EventLoop
    let parts: RealtimeParts
    private let mailbox = Mutex(Mailbox())
    private var sockets: [ObjectIdentifier: WebSocketHandler] = [:]
    private var requests: [ObjectIdentifier: RESTConnection] = [:]
    private var polls: [ObjectIdentifier: PollSession] = [:]
    /// The messages of connections that aren't handed over yet.
    private var unflushed: [OutgoingMessages] = []
    private var flushing: [OutgoingMessages] = []
    /// Those that are pushes and wait for more.
    private var delayed: [OutgoingMessages] = []
    /// Whether more messages may follow at once, which are then handed over together.
    private var isBatching = false
    /// Whether the work that is being done has caused more, which a client may wait for.
    private var hasCausedWork = false
    var isStopping = false
    /// Without the connections.
    var counted = RealtimeFigures()

    /// What is done before the loop's sockets are served in between.
    private static let slice = 64
    /// What is done before the messages are handed over.
    private static let batch = 32
    /// Handing over a message takes longer than making it. Where changes come again and again that many connections hear of,
    /// each connection is handed several at once.
    private static let manyConnections = 8
    private static let pushPause: TimeAmount = .milliseconds(2)
    /// An event loop reads its sockets only once no task is due, however many there were. A machine that is slow in doing
    /// the work is slow in looking what is due, too: a part of the time that the work took is added.
    private static func pause(after work: TimeAmount) -> TimeAmount {
        max(.microseconds(20), .nanoseconds(work.nanoseconds / 16))
    }

    init(eventLoop: any EventLoop, parts: RealtimeParts) {
        self.eventLoop = eventLoop
        self.parts = parts
    }

    // MARK: The mailbox

    /// Adds work from any thread.
    func post(_ item: Item, to queue: ConnectionQueue) {
        if eventLoop.inEventLoop { hasCausedWork = true }
        let mustSchedule = mailbox.withLock { mailbox in
            mailbox.turns.append(item, to: queue)
            defer { mailbox.isScheduled = true }
            return !mailbox.isScheduled
        }
        if mustSchedule { eventLoop.execute { self.drain() } }
    }

    private func drain() {
        isBatching = true
        let start = NIODeadline.now()
        var items: [Item] = []
        var done = 0
        repeat {
            items.removeAll(keepingCapacity: true)
            hasCausedWork = false
            mailbox.withLock { $0.turns.take(Self.batch, into: &items) }
            for item in items {
                switch item {
                case .event(let listener, let event): listener.deliver(event)
                case .call(let call): call()
                }
            }
            // What was just written is still in the processor's cache.
            flush()
            done += items.count
        } while (items.count == Self.batch || hasCausedWork) && done < Self.slice
        endBatch()
        let isDone = mailbox.withLock { mailbox in
            mailbox.isScheduled = !mailbox.turns.isEmpty
            return mailbox.turns.isEmpty
        }
        if isDone { return }
        eventLoop.assumeIsolated().scheduleTask(in: Self.pause(after: .now() - start)) { self.drain() }
    }

    /// Hands over a connection's messages once the current work is done.
    func flushLater(_ messages: OutgoingMessages) {
        guard isBatching else { return messages.flush() }
        unflushed.append(messages)
    }

    /// A socket has several messages.
    func beginBatch() { isBatching = true }

    /// Hands over the messages of all connections.
    func endBatch() {
        isBatching = false
        flush()
    }

    private func flush() {
        // A connection may have more to send once it is flushed, and is then added again.
        swap(&unflushed, &flushing)
        let mayWait = flushing.count >= Self.manyConnections
        let last = eventLoop.now - Self.pushPause
        // Handing over is most of the work, and clients wait for answers.
        for messages in flushing where messages.isUrgent { messages.flush() }
        for messages in flushing where messages.mustFlush {
            if mayWait, messages.mayWait(flushedAfter: last) { delay(messages) } else { messages.flush() }
        }
        flushing.removeAll(keepingCapacity: true)
    }

    private func delay(_ messages: OutgoingMessages) {
        guard !messages.isDelayed else { return }
        messages.isDelayed = true
        delayed.append(messages)
        guard delayed.count == 1 else { return }
        eventLoop.assumeIsolated().scheduleTask(in: Self.pushPause) { self.flushDelayed() }
    }

    private func flushDelayed() {
        var due: [OutgoingMessages] = []
        swap(&delayed, &due)
        for messages in due {
            messages.isDelayed = false
            messages.flush()
        }
    }

    // MARK: Connections

    func add(_ socket: WebSocketHandler) { sockets[ObjectIdentifier(socket)] = socket }

    func remove(_ socket: WebSocketHandler) { sockets[ObjectIdentifier(socket)] = nil }

    func add(_ connection: RESTConnection) { requests[ObjectIdentifier(connection)] = connection }

    func remove(_ connection: RESTConnection) { requests[ObjectIdentifier(connection)] = nil }

    func add(_ session: PollSession) { polls[ObjectIdentifier(session)] = session }

    func remove(_ session: PollSession) { polls[ObjectIdentifier(session)] = nil }

    var connectionCount: Int { sockets.count + requests.count }

    var figures: RealtimeFigures {
        var figures = counted
        figures.sockets = sockets.count
        figures.httpConnections = requests.count
        figures.pollingSessions = polls.count
        return figures
    }

    /// Looks for clients that are silent. Called every few seconds.
    func sweep(now: NIODeadline) {
        for socket in Array(sockets.values) { socket.look(now: now) }
        for connection in Array(requests.values) { connection.look(now: now) }
        for session in parts.sessions.all where session.loop === self { session.endIfRevoked() }
    }

    /// Ends what is idle. Requests under way end first.
    func beginStopping() {
        isStopping = true
        for socket in Array(sockets.values) { socket.close() }
        for session in Array(polls.values) { session.stop() }
        for connection in Array(requests.values) { connection.beginStopping() }
    }

    /// Ends all connections and sessions.
    func closeAll() {
        for session in parts.sessions.all where session.loop === self { session.disconnect { _ in } }
        for socket in Array(sockets.values) { socket.abort() }
        for connection in Array(requests.values) { connection.abort() }
    }
}
