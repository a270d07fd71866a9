import DequeModule
import NIOCore
import Synchronization

/// What the connections of one event loop share, and the queue by which the databases' threads reach them.
///
/// `@unchecked Sendable`: all but the queue is used on the loop only.
final class RealtimeLoop: @unchecked Sendable {
    /// What is to be done on the loop.
    enum Item: Sendable {
        case event(SessionListener, RealtimeListenEvent)
        case call(@Sendable () -> Void)
    }

    private struct Mailbox {
        var items: Deque<Item> = []
        var isScheduled = false
    }

    let eventLoop: any EventLoop
    let parts: RealtimeParts
    private let mailbox = Mutex(Mailbox())
    /// Work that was taken from the queue.
    private var taken: Deque<Item> = []
    private var sockets: [ObjectIdentifier: WebSocketHandler] = [:]
    private var requests: [ObjectIdentifier: RESTConnection] = [:]
    private var polls: [ObjectIdentifier: PollSession] = [:]
    /// Connections with messages that aren't handed over yet.
    private var unflushed: [RealtimeConnection] = []
    private var flushing: [RealtimeConnection] = []
    /// Whether more messages may follow at once, which are then handed over together.
    private var isBatching = false
    var isStopping = false

    /// What is done before the loop's sockets are served in between.
    private static let slice = 512
    /// What is done before the messages are handed over.
    private static let batch = 32

    init(eventLoop: any EventLoop, parts: RealtimeParts) {
        self.eventLoop = eventLoop
        self.parts = parts
    }

    // MARK: The queue

    /// Adds work from any thread. It is done in the order of the calls.
    func post(_ item: Item) {
        let mustSchedule = mailbox.withLock { mailbox in
            mailbox.items.append(item)
            defer { mailbox.isScheduled = true }
            return !mailbox.isScheduled
        }
        if mustSchedule { eventLoop.execute { self.drain() } }
    }

    func post(_ call: @escaping @Sendable () -> Void) { post(.call(call)) }

    private func drain() {
        isBatching = true
        var done = 0
        while done < Self.slice, let item = next() {
            switch item {
            case .event(let listener, let event): listener.deliver(event)
            case .call(let call): call()
            }
            done += 1
            // What was just written is still in the processor's cache.
            if done % Self.batch == 0 { flush() }
        }
        endBatch()
        if !taken.isEmpty { return eventLoop.execute { self.drain() } }
        let isEmpty = mailbox.withLock { mailbox in
            mailbox.isScheduled = !mailbox.items.isEmpty
            return mailbox.items.isEmpty
        }
        if !isEmpty { eventLoop.execute { self.drain() } }
    }

    private func next() -> Item? {
        if taken.isEmpty { mailbox.withLock { swap(&$0.items, &taken) } }
        return taken.popFirst()
    }

    /// Hands over a connection's messages once the current work is done.
    func flushLater(_ connection: RealtimeConnection) {
        guard isBatching else { return connection.flush() }
        unflushed.append(connection)
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
        for connection in flushing { connection.flush() }
        flushing.removeAll(keepingCapacity: true)
    }

    // MARK: Connections

    func add(_ socket: WebSocketHandler) { sockets[ObjectIdentifier(socket)] = socket }

    func remove(_ socket: WebSocketHandler) { sockets[ObjectIdentifier(socket)] = nil }

    func add(_ connection: RESTConnection) { requests[ObjectIdentifier(connection)] = connection }

    func remove(_ connection: RESTConnection) { requests[ObjectIdentifier(connection)] = nil }

    func add(_ session: PollSession) { polls[ObjectIdentifier(session)] = session }

    func remove(_ session: PollSession) { polls[ObjectIdentifier(session)] = nil }

    var connectionCount: Int { sockets.count + requests.count }

    /// Whether one more session may poll. It has a connection only at times, but takes as much as one.
    var hasRoomForPolling: Bool { !isStopping && polls.count < parts.port.connections }

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
        for session in parts.sessions.all where session.loop === self { session.disconnect {} }
        for socket in Array(sockets.values) { socket.abort() }
        for connection in Array(requests.values) { connection.abort() }
    }
}
