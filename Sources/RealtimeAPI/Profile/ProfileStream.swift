import DequeModule
import NIOCore
import NIOHTTP1
import Synchronization

/// The operations of a database as server-sent events of the name `log`.
///
/// `@unchecked Sendable`: it is used on its connection's loop only, but for the number of bytes that wait.
final class ProfileStream: EventStream, @unchecked Sendable {
    private let profile: DatabaseProfile
    /// Until when the admin may watch.
    private let bearer: RealtimeCredentials.Bearer
    private let connection: RESTConnection
    private let loop: RealtimeLoop
    private let queue: ConnectionQueue
    private var events: Deque<ByteBuffer> = []
    private let waitingBytes = Atomic(0)
    private var isOpen = true
    private(set) var keepAlive: RepeatedTask?
    /// What is recorded while the client has more than this to read is left out.
    static let maxWaitingBytes = 1024 * 1024

    init(_ profile: DatabaseProfile, until bearer: RealtimeCredentials.Bearer, _ connection: RESTConnection) {
        self.profile = profile
        self.bearer = bearer
        self.connection = connection
        loop = connection.loop
        queue = connection.queue
    }

    /// - Returns: false if too many watch.
    func begin() -> Bool {
        guard profile.add(self) else { return false }
        // Before the head: the client may leave while it is sent, which ends the timer.
        let interval = loop.parts.port.keepAlive
        keepAlive = loop.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { [weak self] _ in
            self?.showLife()
        }
        connection.sendHead(.ok, ["Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"])
        connection.flush()
        // It wasn't open when the port began to stop.
        if loop.isStopping { stop() }
        return true
    }

    /// Called from any thread.
    func receive(_ json: [UInt8]) {
        guard waitingBytes.load(ordering: .relaxed) < Self.maxWaitingBytes else { return }
        waitingBytes.add(json.count, ordering: .relaxed)
        queue.post { [self] in
            var event = ByteBuffer(string: "event: log\ndata: ")
            event.writeBytes(json)
            event.writeString("\n\n")
            waitingBytes.subtract(json.count, ordering: .relaxed)
            append(event)
        }
    }

    private func append(_ event: ByteBuffer) {
        guard isOpen else { return }
        guard isAllowed else { return stop() }
        waitingBytes.add(event.readableBytes, ordering: .relaxed)
        events.append(event)
        clientIsReady()
    }

    func clientIsReady() {
        while isOpen, connection.isReady, let event = events.popFirst() {
            waitingBytes.subtract(event.readableBytes, ordering: .relaxed)
            connection.sendPart(event)
        }
    }

    /// Also ends the stream with its token, although nothing happens or the client doesn't read.
    private func showLife() {
        guard isAllowed else { return stop() }
        if events.isEmpty { append(ByteBuffer(string: "event: keep-alive\ndata: null\n\n")) }
    }

    private var isAllowed: Bool {
        if let key = bearer.serverKey, loop.parts.credentials.isRevoked(key) { return false }
        return bearer.until.map { TokenTime.left(until: $0, now: loop.parts.now()) != nil } ?? true
    }

    func endIfRevoked() { if !isAllowed { stop() } }

    func stop() {
        guard isOpen else { return }
        cancel()
        connection.sendEnd()
    }

    func cancel() {
        isOpen = false
        events = []
        keepAlive?.cancel()
        keepAlive = nil
        profile.remove(self)
    }
}
