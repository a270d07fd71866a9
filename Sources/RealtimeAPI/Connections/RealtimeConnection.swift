import DocumentModel
import NIOCore
import RealtimeModel
import Sharing

/// Runs a session: performs its actions with the database, the credentials and its transport.
///
/// `@unchecked Sendable`: it is used on its loop only; other threads merely keep it until they are back there.
final class RealtimeConnection: @unchecked Sendable {
    let loop: RealtimeLoop
    let queue: ConnectionQueue
    let key: RealtimeSessions.Key
    private let database: any RealtimeDatabase
    private let client: RealtimeClient
    private let allowsOwner: Bool
    private var session: RealtimeSession
    private let outgoing: OutgoingMessages
    private var listens: [RealtimeSession.ListenID: any RealtimeListening] = [:]
    private var starts = ListenStarts()
    private var reads = ReadsInProgress()
    private var tokenEnd: Scheduled<Void>?
    private var appTokenEnd: Scheduled<Void>?
    /// What the client hasn't taken.
    private var held: HeldMemory?
    /// Messages whose requests aren't answered.
    private var heldRequests: HeldMemory?
    private var heldListens: HeldMemory?
    private var end = End.open

    private enum End {
        case open
        /// The session's end waits for registrations that are under way: they would never be performed.
        case closing(registrations: Int, waiting: [@Sendable (_ isDone: Bool) -> Void])
        case closed
    }

    private var registrations = 0
    /// How often the end of the client's former session was tried.
    private var formerAttempts = 0
    /// About four seconds. Then the client goes on, and what is left is done later.
    private static let maxFormerAttempts = 4
    private var story: SessionStory

    init(
        _ key: RealtimeSessions.Key, _ database: any RealtimeDatabase, _ opening: RealtimeSession.Opening,
        address: UInt64,
        loop: RealtimeLoop
    ) {
        self.key = key
        self.loop = loop
        queue = ConnectionQueue(loop)
        outgoing = OutgoingMessages(on: loop)
        self.database = database
        allowsOwner = opening.allowsOwner
        client = RealtimeClient(address: address, isSession: true)
        story = SessionStory(key, loop.parts.logger)
        story.connected(former: opening.formerSession)
        var opening = opening
        opening.verifiesApps = loop.parts.credentials.verifyApp != nil
        session = RealtimeSession(id: key.session, opening, limits: loop.parts.limits)
        held = loop.parts.answers.map { HeldMemory($0, address: address) }
        heldRequests = loop.parts.bodies.map { HeldMemory($0, address: address) }
        heldListens = loop.parts.listenMemory.map { HeldMemory($0, address: address) }
    }

    // MARK: Beginning and end

    /// Greets the client.
    func begin(_ transport: any RealtimeTransport) {
        outgoing.begin(transport)
        loop.parts.sessions.add(self, key)
        database.profile.record(ProfiledOperation(.connect), at: loop.parts.now())
        perform(session.begin(now: loop.parts.now()))
    }

    /// Goes on with another transport.
    func replaceTransport(_ transport: any RealtimeTransport) { outgoing.replaceTransport(transport, of: self) }

    func switched(to transport: any RealtimeTransport) {
        story.switched()
        transport.setReading(session.isReading)
        pump()
    }

    /// Who holds the memory of what is sent to the client; nil for the client's address.
    var memoryHolder: MemoryBudget.Holder? { session.principal.memoryHolder }

    /// The client has left, or is disconnected.
    ///
    /// - Parameters:
    ///   - reason: for the log.
    ///   - completion: called, on any thread, once all is done that was registered for this moment. Receives false if something
    ///     couldn't be done yet.
    func finish(
        _ reason: String = "the client has left", _ completion: @escaping @Sendable (_ isDone: Bool) -> Void = { _ in }
    ) {
        switch end {
        case .closed: database.endSession(key.session, of: nil, completion)
        case .closing(let registrations, let waiting):
            end = .closing(registrations: registrations, waiting: waiting + [completion])
        case .open:
            end = .closing(registrations: registrations, waiting: [completion])
            story.ended(reason)
            client.leaves()
            database.profile.record(ProfiledOperation(.disconnect), at: loop.parts.now())
            perform(session.end())
            reads.cancelAll()
            outgoing.end()
            // Of the requests only what the database still has is held.
            _ = hold()
            endIfReady()
        }
    }

    private func endIfReady() {
        guard case .closing(0, let waiting) = end else { return }
        end = .closed
        database.endSession(key.session, of: client) { [key, story, sessions = loop.parts.sessions] isDone in
            story.finished()
            sessions.remove(key)
            for completion in waiting { completion(isDone) }
        }
    }

    // MARK: Events

    /// - Parameter bytes: a message of the client.
    func receive(_ message: RealtimeMessage, bytes: Int) { perform(session.receive(message, bytes: bytes)) }

    /// Whether the client has sent much more although reading has paused.
    var isOverfull: Bool { session.isOverfull }

    func received(_ event: RealtimeListenEvent, of id: RealtimeSession.ListenID) {
        guard starts.keep(event, of: id) else { return handle(event, of: id) }
        if starts.isFull { handle(starts.removeAll()) }
    }

    private func handle(_ events: [ListenStarts.Event]) {
        for (id, event) in events { handle(event, of: id) }
    }

    private func handle(_ event: RealtimeListenEvent, of id: RealtimeSession.ListenID) {
        if case .push(let push) = event {
            guard let tag = session.tag(ofPushesTo: id) else { return }
            if reads.note(push, of: id, tag: tag), !hold() { return breakOff() }
            return send(push, tag)
        }
        story.received(event, of: id)
        if case .ended = event { removeListen(id) }
        perform(session.received(event, of: id))
        handle(starts.remove(id))
    }

    // MARK: Actions

    private func perform(_ actions: [RealtimeSession.Action]) {
        // Values that follow one another undo the same pushes.
        var answered: [RealtimeSession.OperationID] = []
        var cancelled: [any RealtimeListening] = []
        var kept: [ListenStarts.Event] = []
        for action in actions {
            if case .sendValue = action {} else { sendPushesAgain(after: &answered) }
            switch action {
            case .send(let message): outgoing.append(.message(message))
            case .sendValue(let read, let before, let content, let after):
                outgoing.append(.value(before: before, content, after: after))
                if let read { answered.append(read) }
            case .perform(let id, let request, let principal): perform(id, request, principal)
            case .verify(let id, let token, let override):
                story.asked(id, "sign in")
                loop.parts.credentials.bearer(
                    of: token, override: override, allowsOwner: allowsOwner
                ) { [self] result in
                    queue.post {
                        self.verified(id, result)
                    }
                }
            case .verifyApp(let id, let token):
                loop.parts.credentials.verifyApp?(token) { [self] admission in
                    queue.post { self.perform(self.session.verifiedApp(id, admission)) }
                }
            case .listen(let id, let key, let known, let principal): listen(id, key, known, principal)
            case .cancel(let id):
                story.listenEnded(id)
                kept += starts.remove(id)
                guard let listen = removeListen(id) else { break }
                if actions.count > Self.fewActions { cancelled.append(listen) } else { listen.cancel() }
            case .authorize(let id, let listens, let principal): authorize(id, listens, principal)
            case .setReading(let isReading): outgoing.setReading(isReading)
            case .setTokenEnd(let time): schedule(\.tokenEnd, at: time) { $0.session.tokenEnded() }
            case .setAppTokenEnd(let time): schedule(\.appTokenEnd, at: time) { $0.session.appTokenEnded() }
            case .retry(let id, let pause):
                later(within: .milliseconds(pause)) { $0.perform($0.session.retry(id)) }
            case .close: outgoing.append(.end)
            case .closeLater: later(within: loop.parts.port.overload) { $0.perform([.close]) }
            }
        }
        if !cancelled.isEmpty {
            loop.parts.longWork.add(of: client.address) { [cancelled] in for listen in cancelled { listen.cancel() } }
        }
        sendPushesAgain(after: &answered)
        pump()
        handle(kept)
    }

    /// With more, thousands of listens may end, for which the loop's other connections would wait.
    private static let fewActions = 64

    /// Waits for half the time at least. Many clients may have been refused at once, and must not come back at once.
    private func later(within time: TimeAmount, _ body: @escaping (RealtimeConnection) -> Void) {
        let pause = TimeAmount.nanoseconds(.random(in: time.nanoseconds / 2...time.nanoseconds))
        loop.eventLoop.assumeIsolated().scheduleTask(in: pause) { [weak self] in
            guard let self, case .open = self.end else { return }
            body(self)
        }
    }

    private func perform(
        _ id: RealtimeSession.OperationID, _ request: RealtimeRequest, _ principal: RealtimePrincipal
    ) {
        story.asked(id, request.summary)
        switch request {
        case .get(let path, let query):
            let read = RealtimeRead(path, query: query, form: .value(.export), countsUnits: true)
            reads.begin(id, at: path, read.cancellation)
            database.read(read, as: principal, for: client) { [self] result in
                queue.post {
                    switch result {
                    case .success(let reading):
                        self.reads.hasRead(id, version: reading.version)
                        self.answered(id, .value(reading.content))
                    case .failure(let error):
                        _ = self.reads.end([id])
                        self.answered(id, .failure(error))
                    }
                }
            }
        case .write(let write):
            database.write(write, RealtimeWriteOptions(), as: principal, for: client) { [self] result in
                let answer = RequestAnswer(result.map { _ in })
                queue.post { self.answered(id, answer) }
            }
        case .onDisconnect(let request):
            registrations += 1
            database.onDisconnect(request, session: key.session, as: principal, for: client) { [self] result in
                queue.post {
                    self.registered()
                    self.answered(id, RequestAnswer(result))
                }
            }
        case .endFormerSession(let former):
            // What the client writes must not come before what its former session has left, except for a time.
            let done: @Sendable (Bool) -> Void = { [self] isDone in
                queue.post { [self] in
                    formerAttempts += 1
                    let mayWait = !isDone && formerAttempts < Self.maxFormerAttempts
                    answered(id, mayWait ? .failure(.unavailable("the former session has not ended yet")) : .done)
                }
            }
            let former = RealtimeSessions.Key(database: key.database, session: former)
            guard let connection = loop.parts.sessions[former], connection !== self else {
                return database.endSession(former.session, of: nil, done)
            }
            connection.queue.post { connection.disconnect(done) }
        case .statistics, .authenticate, .authenticateServer, .unauthenticate, .provideApp, .removeApp, .listen,
            .unlisten,
            .invalid:
            break
        }
    }

    /// Appends the pushes that answers undo: clients take their values for newer than what they were sent before them.
    private func sendPushesAgain(after ids: inout [RealtimeSession.OperationID]) {
        guard !ids.isEmpty else { return }
        for push in reads.end(ids) {
            guard let tag = session.tag(ofPushesTo: push.listen) else { continue }
            loop.counted.pushes += 1
            loop.counted.pushBytes += push.bytes
            outgoing.append(.push(push.push, tag: tag, bytes: push.bytes))
        }
        ids = []
    }

    private func answered(_ id: RealtimeSession.OperationID, _ answer: RequestAnswer) {
        story.answered(id, answer.summary)
        perform(session.answered(id, answer))
    }

    private func verified(
        _ id: RealtimeSession.OperationID, _ result: Result<RealtimeCredentials.Bearer, RealtimeServiceError>
    ) {
        switch result {
        case .success(let bearer): story.answered(id, RequestAnswer.authenticated(bearer.principal).summary)
        case .failure(let error): story.answered(id, RequestAnswer.failure(error).summary)
        }
        perform(session.verified(id, result))
    }

    private func registered() {
        registrations -= 1
        guard case .closing(let count, let waiting) = end else { return }
        end = .closing(registrations: count - 1, waiting: waiting)
        endIfReady()
    }

    /// The client has come back with another connection, or the port stops.
    func disconnect(_ completion: @escaping @Sendable (_ isDone: Bool) -> Void) {
        outgoing.abort()
        finish("it has come back, or the port stops", completion)
    }

    private func listen(
        _ id: RealtimeSession.ListenID, _ key: ListenKey, _ known: RealtimeListen.Known?, _ principal: RealtimePrincipal
    ) {
        story.listens(id, to: key)
        starts.append(id)
        let listen = RealtimeListen(key.path, query: key.query, known: known, form: .export, countsUnits: true)
        listens[id] = database.listen(listen, as: principal, for: client, to: SessionListener(self, id))
        loop.counted.listens += 1
    }

    @discardableResult
    private func removeListen(_ id: RealtimeSession.ListenID) -> (any RealtimeListening)? {
        guard let listen = listens.removeValue(forKey: id) else { return nil }
        loop.counted.listens -= 1
        return listen
    }

    private func authorize(
        _ id: RealtimeSession.OperationID, _ listens: [RealtimeSession.ListenID], _ principal: RealtimePrincipal
    ) {
        let open = listens.compactMap { self.listens[$0] }
        Countdown.run(open.count, together: Countdown.listensTogether) { index, done in
            open[index].authorize(as: principal, done)
        } completion: { [self] in
            queue.post { self.perform(self.session.authorized(id)) }
        }
    }

    /// Ends the session if its token's key was revoked.
    func endIfRevoked() {
        guard let serverKey = session.serverKey, loop.parts.credentials.isRevoked(serverKey) else { return }
        perform(session.tokenEnded())
    }

    private func schedule(
        _ end: ReferenceWritableKeyPath<RealtimeConnection, Scheduled<Void>?>, at time: Int64?,
        _ body: @escaping (RealtimeConnection) -> [RealtimeSession.Action]
    ) {
        self[keyPath: end]?.cancel()
        self[keyPath: end] = nil
        guard let time else { return }
        let wait = TokenTime.left(until: time, now: loop.parts.now()) ?? .zero
        self[keyPath: end] = loop.eventLoop.assumeIsolated().scheduleTask(in: wait) { [self] in
            guard TokenTime.left(until: time, now: loop.parts.now()) == nil else {
                return schedule(end, at: time, body)
            }
            perform(body(self))
        }
    }

    // MARK: Sending

    private func send(_ push: RealtimePush, _ tag: Int64?) {
        loop.counted.pushes += 1
        loop.counted.pushBytes += push.frameBytes(tag: tag)
        if outgoing.sendAtOnce(push, tag: tag) { return }
        outgoing.append(.push(push, tag: tag, bytes: push.frameBytes(tag: tag)))
        if !hold() { breakOff() }
    }

    /// Counts the client's requests and listens, and what waits for it or is kept for it, among what there is for all.
    ///
    /// - Returns: false if it is too much.
    private func hold() -> Bool {
        let unread = outgoing.waitingBytes + reads.bytes
        guard max(outgoing.waitingPushBytes, reads.maxBytes) <= loop.parts.limits.unreadPushBytes,
            held?.adjust(to: unread, identify: { memoryHolder }) ?? true,
            heldListens?.adjust(to: session.listenBytes, identify: { memoryHolder }) ?? true
        else { return false }
        return heldRequests?.adjust(to: session.requestBytes, identify: { memoryHolder }) ?? true
    }

    /// Ends the connection at once. What its client was to be sent is lost; it comes back for it.
    private func breakOff() {
        outgoing.abort()
        finish("it takes what it is sent too slowly, or needs more memory than it may have")
    }

    /// The client takes more.
    func transportIsReady() { pump() }

    /// A part of a value that is being sent was read. Called on any thread.
    func received(_ part: Result<[UInt8]?, RealtimeServiceError>) {
        queue.post { [self] in outgoing.received(part, for: self) ? pump() : breakOff() }
    }

    /// Sends what waits, as far as the client takes it.
    private func pump() {
        outgoing.send(for: self)
        if !hold(), !outgoing.hasEnded { return breakOff() }
        let more =
            session.setBackedUp(outgoing.isBackedUp(beyond: loop.parts.limits.waitingValueBytes))
            + session.setUnreadAnswers(bytes: outgoing.waitingMessageBytes)
        if !more.isEmpty { perform(more) }
    }
}

extension RequestAnswer {
    init(_ result: Result<Void, RealtimeServiceError>) {
        self =
            switch result {
            case .success: .done
            case .failure(let error): .failure(error)
            }
    }
}
