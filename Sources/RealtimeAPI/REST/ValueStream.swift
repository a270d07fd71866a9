import DequeModule
import NIOCore
import NIOHTTP1
import RealtimeModel
import Sharing
import StrictJSON

/// A value and its changes as server-sent events.
///
/// `@unchecked Sendable`: it is used on its connection's loop only; the service's threads merely hand it events, by way of the
/// loop.
final class ValueStream: EventStream, LoopListener, @unchecked Sendable {
    private enum State {
        /// The status depends on the first event.
        case starting
        case open
        case ended
    }

    private enum Item {
        case event(ByteBuffer, isPush: Bool)
        case content(any RealtimeContentStream)
        case end
    }

    private let path: RealtimePath
    private let form: RealtimeForm
    /// Who listens, and until when.
    private let bearer: RealtimeCredentials.Bearer
    private let connection: RESTConnection
    private let loop: RealtimeLoop
    private let queue: ConnectionQueue
    private var state = State.starting
    private var listening: (any RealtimeListening)? {
        didSet { loop.counted.listens += (listening == nil ? 0 : 1) - (oldValue == nil ? 0 : 1) }
    }
    private var items: Deque<Item> = []
    private var pushBytes = 0
    /// What the client hasn't taken.
    private var held: HeldMemory?
    private(set) var holder: MemoryBudget.Holder?
    private var isReading = false
    private(set) var keepAlive: RepeatedTask?
    private var tokenEnd: Scheduled<Void>?

    init(
        _ path: RealtimePath, form: RealtimeForm, until bearer: RealtimeCredentials.Bearer, _ connection: RESTConnection
    ) {
        self.path = path
        self.form = form
        self.bearer = bearer
        self.connection = connection
        loop = connection.loop
        queue = connection.queue
        held = loop.parts.answers.map { HeldMemory($0, address: connection.address) }
    }

    func begin(_ listen: RealtimeListen, _ database: any RealtimeDatabase, _ principal: RealtimePrincipal) {
        holder = principal.memoryHolder
        listening = database.listen(listen, as: principal, for: connection.client, to: self)
    }

    func receive(_ event: RealtimeListenEvent) { queue.post(.event(self, event)) }

    // MARK: Events

    func deliver(_ event: RealtimeListenEvent) {
        switch (state, event) {
        case (.starting, .ended(let error)):
            state = .ended
            // It holds this stream, which nothing else ends any more.
            listening = nil
            connection.refuse(RESTRefusal(error))
        case (.starting, .began(let start)):
            state = .open
            watch()
            connection.sendHead(.ok, ["Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"])
            connection.flush()
            begin(start)
            // It wasn't open when the port began to stop.
            if loop.isStopping { stop() }
        case (.open, .push(let push)): send(push)
        case (.open, .ended(.permissionDenied)): finish(with: "cancel", "null")
        // The client would give a cancelled stream up for good. Now it connects again.
        case (.open, .ended):
            listening = nil
            stop()
        case (.ended, _), (.starting, .push), (.open, .began): break
        }
    }

    private func begin(_ start: RealtimeListenStart) {
        switch start.data {
        case .value(.bytes(let bytes)):
            append(event("put", #"{"path":"/","data":"#, ByteBuffer(bytes: bytes)), isPush: false)
        case .value(.stream(let stream, _)):
            items.append(.event(ByteBuffer(string: "event: put\ndata: {\"path\":\"/\",\"data\":"), isPush: false))
            items.append(.content(stream))
            items.append(.event(ByteBuffer(string: "}\n\n"), isPush: false))
            pump()
        case .unchanged, .ranges: break
        }
    }

    /// Call before anything is sent: the client may leave while it is, which ends the timers.
    private func watch() {
        let interval = loop.parts.port.keepAlive
        keepAlive = loop.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { [weak self] _ in
            self?.showLife()
        }
        if let until = bearer.until { waitForTokenEnd(until) }
    }

    private func waitForTokenEnd(_ until: Int64) {
        let wait = TokenTime.left(until: until, now: loop.parts.now()) ?? .zero
        tokenEnd = loop.eventLoop.scheduleTask(in: wait) { [weak self] in
            guard let self, self.state == .open else { return }
            guard TokenTime.left(until: until, now: self.loop.parts.now()) == nil else {
                return self.waitForTokenEnd(until)
            }
            self.endWithToken()
        }
    }

    func endIfRevoked() {
        guard state == .open, let key = bearer.serverKey, loop.parts.credentials.isRevoked(key) else { return }
        guard items.isEmpty else {
            // What still waits isn't for that server any more.
            cancel()
            return connection.breakOff()
        }
        endWithToken()
    }

    private func endWithToken() { finish(with: "auth_revoked", "credential is no longer valid") }

    private func send(_ push: RealtimePush) {
        // Without priorities, their changes aren't seen.
        if !form.hasPriorities {
            if push.target.isPriority { return }
            if case .merge(let changes) = push.change, changes.allSatisfy({ $0.target.isPriority }) { return }
        }
        let push = push.narrowed
        var writer = JSONWriter(capacity: 64)
        writer.raw("{\"path\":")
        writer.string("/" + (push.target.relative(to: path) ?? push.target).string)
        writer.raw(",\"data\":")
        let opening = String(decoding: writer.bytes, as: UTF8.self)
        let event = event(push.isMerge ? "patch" : "put", opening, push.data(as: form))
        loop.counted.pushes += 1
        loop.counted.pushBytes += event.readableBytes
        append(event, isPush: true)
    }

    private func event(_ name: String, _ opening: String, _ data: ByteBuffer) -> ByteBuffer {
        var event = ByteBuffer(string: "event: \(name)\ndata: \(opening)")
        event.writeImmutableBuffer(data)
        event.writeString("}\n\n")
        return event
    }

    private func showLife() {
        endIfRevoked()
        guard state == .open, items.isEmpty else { return }
        append(ByteBuffer(string: "event: keep-alive\ndata: null\n\n"), isPush: false)
    }

    // MARK: Sending

    private func append(_ event: ByteBuffer, isPush: Bool) {
        items.append(.event(event, isPush: isPush))
        if isPush { pushBytes += event.readableBytes }
        pump()
        guard state == .open else { return }
        let isHeld = held?.adjust(to: pushBytes, identify: { holder }) ?? true
        if !isHeld || pushBytes > loop.parts.limits.unreadPushBytes {
            // The client reads too slowly.
            cancel()
            connection.breakOff()
        }
    }

    func clientIsReady() { pump() }

    private func pump() {
        while state == .open, !isReading, connection.isReady, let item = items.first {
            switch item {
            case .event(let event, let isPush):
                items.removeFirst()
                if isPush { pushBytes -= event.readableBytes }
                if items.isEmpty { held?.release() }
                connection.sendPart(event)
            case .content(let stream):
                isReading = true
                stream.next { [self] part in queue.post { self.received(part) } }
            case .end:
                cancel()
                connection.sendEnd()
            }
        }
    }

    private func received(_ part: Result<[UInt8]?, RealtimeServiceError>) {
        isReading = false
        guard state == .open else { return }
        switch part {
        case .success(let bytes?): connection.sendPart(ByteBuffer(bytes: bytes))
        case .success(nil): items.removeFirst()
        case .failure:
            cancel()
            return connection.breakOff()
        }
        pump()
    }

    // MARK: End

    private func finish(with name: String, _ data: String) {
        guard state == .open else { return }
        listening?.cancel()
        listening = nil
        items.append(.event(ByteBuffer(string: "event: \(name)\ndata: \(data)\n\n"), isPush: false))
        items.append(.end)
        pump()
    }

    /// The port stops: the client connects again.
    func stop() {
        guard state == .open else { return }
        items.append(.end)
        pump()
    }

    /// Ends the stream. Nothing more is sent.
    func cancel() {
        state = .ended
        listening?.cancel()
        listening = nil
        keepAlive?.cancel()
        keepAlive = nil
        tokenEnd?.cancel()
        for case .content(let stream) in items { stream.cancel() }
        items = []
        pushBytes = 0
        held?.release()
    }
}
