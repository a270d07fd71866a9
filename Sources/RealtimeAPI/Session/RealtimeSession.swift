import RealtimeModel

/// What one client has open: who it is, its listens, and its requests in their order.
///
/// A pure state machine. It knows no transport: its messages go out by WebSocket or by long polling. Reads may be under way
/// together, and so may writes, which the database takes in their order; all else runs alone.
struct RealtimeSession {
    /// Names a request that is under way.
    typealias OperationID = Int64
    /// Names a listen.
    typealias ListenID = Int64

    /// What is to be done, in order.
    enum Action: Equatable {
        case send([UInt8])
        /// Sends a message with a value in it, piece by piece if it is large.
        /// - Parameter operation: the read whose answer it is; nil for the data of a listen.
        case sendValue(of: OperationID?, before: [UInt8], RealtimeContent, after: [UInt8])
        /// Calls the database, whose answer is given to ``RealtimeSession/answered(_:_:)``.
        case perform(OperationID, RealtimeRequest, as: RealtimePrincipal)
        /// Verifies a token, whose bearer is given to ``RealtimeSession/verified(_:_:)``.
        case verify(OperationID, token: String, RealtimeCredentials.Override?)
        /// Verifies an app, which is given to ``RealtimeSession/verifiedApp(_:_:)``.
        case verifyApp(OperationID, token: String)
        case listen(ListenID, ListenKey, RealtimeListen.Known?, as: RealtimePrincipal)
        case cancel(ListenID)
        /// Decides on listens again, and then calls ``RealtimeSession/authorized(_:)``.
        case authorize(OperationID, [ListenID], as: RealtimePrincipal)
        case setReading(Bool)
        /// Calls ``RealtimeSession/tokenEnded()`` at a time, in seconds since 1970, instead of at an earlier given one; nil for
        /// never.
        case setTokenEnd(Int64?)
        /// As ``setTokenEnd(_:)``, for ``RealtimeSession/appTokenEnded()``.
        case setAppTokenEnd(Int64?)
        /// Calls ``RealtimeSession/retry(_:)`` after at most that many milliseconds.
        case retry(OperationID, within: Int64)
        /// Closes once all before it is sent.
        case close
        /// Closes after some seconds. Clients that have to come back don't all do so at once.
        case closeLater
    }

    /// What the client opens its connection with.
    struct Opening: Equatable, Sendable {
        /// Where it reached the server, and reconnects to.
        var host: String
        /// The session that it had before.
        var formerSession: String?
        var appToken: String?
        /// Whether apps must prove themselves.
        var verifiesApps = false
        /// Whether the client may be the owner, in development.
        var allowsOwner = true
    }

    private enum Listen {
        /// The request that began it waits for the first event.
        case starting(OperationID, ListenKey)
        case open(ListenKey)

        var key: ListenKey {
            switch self {
            case .starting(_, let key), .open(let key): key
            }
        }
    }

    let id: String
    private let opening: Opening
    private let limits: RealtimeConnectionLimits
    private(set) var principal = RealtimePrincipal.client(nil)
    /// The key that has signed the token of the server that is signed in; nil once it is signed out.
    private(set) var serverKey: String?
    private var isAppVerified: Bool
    private var requests: RequestQueue
    private var listens: [ListenID: Listen] = [:]
    private var listenIDs: [ListenKey: ListenID] = [:]
    private var lastListenID: ListenID = 0
    /// About what the listens take in memory.
    private(set) var listenBytes = 0
    private(set) var isReading = true
    /// Whether so many answers wait for the client that no more of it is read.
    private var hasUnreadAnswers = false
    private(set) var isClosed = false

    /// - Parameter id: unguessable: a client that knows it can end the session.
    init(id: String, _ opening: Opening, limits: RealtimeConnectionLimits = .init()) {
        self.id = id
        self.opening = opening
        self.limits = limits
        requests = RequestQueue(limits)
        isAppVerified = !opening.verifiesApps
    }

    // MARK: Beginning and end

    /// Greets the client.
    ///
    /// - Parameter now: milliseconds since 1970.
    mutating func begin(now: Int64) -> [Action] {
        if let former = opening.formerSession { requests.append(nil, .endFormerSession(former)) }
        if opening.verifiesApps, let token = opening.appToken { requests.append(nil, .provideApp(token: token)) }
        return [.send(ServerMessage.hello(time: now, host: opening.host, session: id))] + goOn()
    }

    /// Ends the session: the client has left, or is disconnected. What is under way is ignored from now on.
    mutating func end() -> [Action] {
        guard !isClosed else { return [] }
        isClosed = true
        requests.end()
        let open = listens.keys.sorted()
        listens = [:]
        listenIDs = [:]
        listenBytes = 0
        return open.map { .cancel($0) } + [.setTokenEnd(nil)] + (opening.verifiesApps ? [.setAppTokenEnd(nil)] : [])
    }

    /// Ends the session without answers. A client that learns that the database is overloaded would give a listen up, or
    /// undo a write, for good. Now it comes back with the hashes of what it has, and sends again what wasn't answered.
    private mutating func leave() -> [Action] { end() + [.closeLater] }

    /// The time of the client's token is over.
    mutating func tokenEnded() -> [Action] {
        guard !isClosed else { return [] }
        return [.send(ServerMessage.tokenEnded(.expiredToken))] + end() + [.close]
    }

    /// The time of the app's token is over.
    mutating func appTokenEnded() -> [Action] {
        isAppVerified = false
        guard !isClosed, !principal.isAdmin else { return [] }
        return [.send(ServerMessage.appTokenEnded(.unverifiedApp))] + end() + [.close]
    }

    // MARK: Requests

    /// - Parameter bytes: the message's length.
    mutating func receive(_ message: RealtimeMessage, bytes: Int) -> [Action] {
        guard !isClosed else { return [] }
        switch message {
        case .ping: return [.send(ServerMessage.control("o"))]
        case .endOfTransmission, .switchTransport, .otherControl: return []
        case .invalid: return end() + [.close]
        case .request(let number, let request):
            requests.append(number, request, bytes: bytes)
            return goOn()
        }
    }

    /// - Parameter isBackedUp: whether the client has to take earlier values before more is read for it.
    mutating func setBackedUp(_ isBackedUp: Bool) -> [Action] {
        guard !isClosed, isBackedUp != requests.isBackedUp else { return [] }
        requests.isBackedUp = isBackedUp
        return isBackedUp ? [] : goOn()
    }

    /// - Parameter bytes: of the answers that the client hasn't taken. Each of its messages may add to them, so no more is
    ///   read while there are too many.
    mutating func setUnreadAnswers(bytes: Int) -> [Action] {
        let isUnread = bytes > (hasUnreadAnswers ? limits.unreadAnswerBytes / 2 : limits.unreadAnswerBytes)
        guard !isClosed, isUnread != hasUnreadAnswers else { return [] }
        hasUnreadAnswers = isUnread
        var actions: [Action] = []
        updateReading(&actions)
        return actions
    }

    /// The bytes of the client's messages whose requests aren't answered.
    var requestBytes: Int { requests.bytes }

    /// Whether the client has sent much more although reading has paused.
    var isOverfull: Bool { !isClosed && requests.isOverfull }

    /// Sends the answers that wait for no earlier one, and begins the requests that needn't wait.
    private mutating func goOn() -> [Action] {
        var actions: [Action] = []
        reply(&actions)
        while let next = requests.startNext() {
            begin(next, &actions)
            reply(&actions)
        }
        guard !requests.mustEnd else { return actions + leave() }
        updateReading(&actions)
        return actions
    }

    private mutating func updateReading(_ actions: inout [Action]) {
        let mayRead = !hasUnreadAnswers && (isReading ? !requests.isFull : requests.hasRoom)
        guard mayRead != isReading else { return }
        isReading = mayRead
        actions.append(.setReading(mayRead))
    }

    private mutating func begin(_ next: RequestQueue.Started, _ actions: inout [Action]) {
        let id = next.id
        switch next.request {
        case .statistics: requests.answer(id, .done)
        case .authenticate(let token): actions.append(.verify(id, token: token, nil))
        case .authenticateServer(let token, let override): actions.append(.verify(id, token: token, override))
        case .unauthenticate: become(RealtimeCredentials.Bearer(.client(nil)), id, &actions)
        case .provideApp(let token):
            if opening.verifiesApps {
                actions.append(.verifyApp(id, token: token))
            } else {
                requests.answer(id, .done)
            }
        case .removeApp:
            if opening.verifiesApps { actions += withoutApp() }
            requests.answer(id, .done)
        case .unlisten(let key):
            if let listen = listenIDs[key] { remove(listen, &actions) }
            requests.answer(id, .done)
        case .invalid(let error): requests.answer(id, .failure(error))
        case .endFormerSession: actions.append(.perform(id, next.request, as: principal))
        case .listen, .get, .write, .onDisconnect:
            guard isAppVerified || principal.isAdmin else {
                requests.answer(id, .failure(.unverifiedApp))
                return
            }
            if case .listen(let key, let known) = next.request {
                listen(key, known, id, &actions)
            } else {
                actions.append(.perform(id, next.request, as: principal))
            }
        }
    }

    /// The database has answered a request.
    mutating func answered(_ id: OperationID, _ answer: RequestAnswer) -> [Action] {
        guard !isClosed else {
            requests.remove(id)
            return []
        }
        if case .failure(.unavailable) = answer {
            if let pause = requests.postpone(id) { return [.retry(id, within: pause)] }
            return goOn()
        }
        guard requests.answer(id, answer) else { return [] }
        return goOn()
    }

    /// Begins a request again for which the database had no room.
    mutating func retry(_ id: OperationID) -> [Action] {
        guard !isClosed, let request = requests.resume(id) else { return [] }
        guard case .listen(let key, let known) = request else { return [.perform(id, request, as: principal)] }
        guard let listen = listenIDs[key] else { return [] }
        return [.listen(listen, key, known, as: principal)]
    }

    private mutating func reply(_ actions: inout [Action]) {
        while let (id, number, answer) = requests.takeAnswer() {
            guard let number else { continue }
            switch answer {
            case .done: actions.append(.send(ServerMessage.ok(number)))
            case .listening(let isIndexed): actions.append(.send(ServerMessage.listening(number, isIndexed: isIndexed)))
            case .authenticated(let principal): actions.append(.send(ServerMessage.authenticated(number, principal)))
            case .failure(let error): actions.append(.send(ServerMessage.refusal(number, error)))
            case .value(let content):
                let (before, after) = ServerMessage.getEnvelope(number)
                actions.append(.sendValue(of: id, before: before, content, after: after))
            }
        }
    }

    // MARK: Credentials

    /// A token is verified.
    mutating func verified(
        _ id: OperationID, _ result: Result<RealtimeCredentials.Bearer, RealtimeServiceError>
    ) -> [Action] {
        guard !isClosed else { return [] }
        var actions: [Action] = []
        switch result {
        case .success(let bearer): become(bearer, id, &actions)
        // The client stays who it was, until it comes with a better token.
        case .failure(let error): requests.answer(id, .failure(error))
        }
        return actions + goOn()
    }

    /// The client acts in another name from now on. The answer waits until its listens are decided on.
    private mutating func become(
        _ bearer: RealtimeCredentials.Bearer, _ id: OperationID, _ actions: inout [Action]
    ) {
        principal = bearer.principal
        serverKey = bearer.serverKey
        actions.append(.setTokenEnd(bearer.until))
        if !isAppVerified { actions += withoutApp() }
        if listens.isEmpty {
            requests.answer(id, .authenticated(principal))
        } else {
            actions.append(.authorize(id, listens.keys.sorted(), as: principal))
        }
    }

    /// All listens were decided on in the name of the new principal.
    mutating func authorized(_ id: OperationID) -> [Action] { answered(id, .authenticated(principal)) }

    /// An App Check token is verified.
    mutating func verifiedApp(_ id: OperationID, _ admission: RealtimeCredentials.AppAdmission) -> [Action] {
        guard !isClosed else { return [] }
        let error: RealtimeServiceError
        switch admission {
        case .admitted(let end):
            isAppVerified = true
            return [.setAppTokenEnd(end)] + answered(id, .done)
        case .refused: error = .invalidToken
        case .unavailable: error = .appKeysUnavailable
        }
        guard !isAppVerified, !principal.isAdmin else {
            // It stays what it was, until it comes with a better token.
            requests.answer(id, .failure(error))
            return goOn()
        }
        // What the client listens to and writes would be refused, and given up for good. But it may only have had no
        // better token at the moment: SDKs send an invalid one then. It comes back with another.
        guard admission == .refused else { return leave() }
        requests.answer(id, .failure(error))
        var actions: [Action] = []
        reply(&actions)
        if actions.isEmpty { actions = [.send(ServerMessage.appTokenEnded(error))] }
        return actions + end() + [.close]
    }

    /// The app has no valid token. What its client listens to ends, as with the end of a token, once this is done.
    private mutating func withoutApp() -> [Action] {
        isAppVerified = false
        return [.setAppTokenEnd(listens.isEmpty || principal.isAdmin ? nil : 0)]
    }

    // MARK: Listens

    private mutating func listen(
        _ key: ListenKey, _ known: RealtimeListen.Known?, _ id: OperationID, _ actions: inout [Action]
    ) {
        // A client that sends a listen twice has forgotten the first one.
        if let earlier = listenIDs[key] { remove(earlier, &actions) }
        guard listens.count < limits.listens else {
            requests.answer(id, .failure(.tooManyListens(limit: limits.listens)))
            return
        }
        lastListenID += 1
        listens[lastListenID] = .starting(id, key)
        listenIDs[key] = lastListenID
        listenBytes += key.bytes
        actions.append(.listen(lastListenID, key, known, as: principal))
    }

    @discardableResult
    private mutating func forget(_ id: ListenID) -> Listen? {
        guard let listen = listens.removeValue(forKey: id) else { return nil }
        listenIDs[listen.key] = nil
        listenBytes -= listen.key.bytes
        return listen
    }

    private mutating func remove(_ id: ListenID, _ actions: inout [Action]) {
        guard let listen = forget(id) else { return }
        // Both were sent at once.
        if case .starting(let operation, _) = listen { requests.answer(operation, .listening(isIndexed: true)) }
        actions.append(.cancel(id))
    }

    /// A listen has an event other than a push.
    mutating func received(_ event: RealtimeListenEvent, of id: ListenID) -> [Action] {
        // The events of a cancelled listen may still be on their way.
        guard !isClosed, let listen = listens[id] else { return [] }
        switch (listen, event) {
        case (.starting(let operation, let key), .began(let start)):
            listens[id] = .open(key)
            return data(start.data, key) + answered(operation, .listening(isIndexed: start.isIndexed))
        // It begins again.
        case (.starting(let operation, _), .ended(.unavailable(let sentence))):
            return answered(operation, .failure(.unavailable(sentence)))
        case (.starting(let operation, _), .ended(let error)):
            forget(id)
            return answered(operation, .failure(error))
        case (.open(let key), .ended(.permissionDenied)):
            forget(id)
            return [.send(ServerMessage.revoked(key))]
        // The client would give a revoked listen up for good.
        case (.open, .ended): return leave()
        case (_, .push), (.open, .began): return []
        }
    }

    /// The tag with which a listen's pushes are sent: they are most of all events, and need no other action.
    ///
    /// - Returns: nil if the listen isn't open. Its pushes are ignored then; those of a cancelled listen may still come.
    func tag(ofPushesTo id: ListenID) -> Int64?? {
        guard case .open(let key)? = listens[id] else { return nil }
        return .some(key.tag)
    }

    private func data(_ data: RealtimeListenStart.Data, _ key: ListenKey) -> [Action] {
        switch data {
        case .unchanged: return []
        case .ranges(let content):
            let (before, after) = ServerMessage.rangesEnvelope(key)
            return [.sendValue(of: nil, before: before, content, after: after)]
        case .value(let content):
            let (before, after) = ServerMessage.dataEnvelope(key)
            return [.sendValue(of: nil, before: before, content, after: after)]
        }
    }
}

extension RealtimeContent: Equatable {
    package static func == (a: RealtimeContent, b: RealtimeContent) -> Bool {
        switch (a, b) {
        case (.bytes(let a), .bytes(let b)): a == b
        case (.stream(let a, _), .stream(let b, _)): a === b
        default: false
        }
    }
}

extension RealtimePush: Equatable {
    package static func == (a: RealtimePush, b: RealtimePush) -> Bool { a === b }
}
