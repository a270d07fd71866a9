import RealtimeModel

/// A request of a client's message.
enum RealtimeRequest: Sendable {
    case statistics
    case authenticate(token: String)
    case authenticateServer(token: String, RealtimeCredentials.Override?)
    case unauthenticate
    case provideApp(token: String)
    case removeApp
    case listen(ListenKey, RealtimeListen.Known?)
    case unlisten(ListenKey)
    case get(RealtimePath, RealtimeQuery?)
    case write(RealtimeWrite)
    case onDisconnect(RealtimeDisconnectRequest)
    /// The client was here before, as another session. It isn't a message: a connection begins with it.
    case endFormerSession(String)
    /// It is answered in its turn.
    case invalid(RealtimeServiceError)
}

/// What tells a connection's listens apart.
struct ListenKey: Sendable {
    var path: RealtimePath
    /// Nil for the value as it is.
    var query: RealtimeQuery?
    /// Echoed in each push; nil if there is no query.
    var tag: Int64?
    /// The query as the client wrote it: the JavaScript SDK finds a revoked listen by exactly that object.
    var queryText: [UInt8] = []
}

extension ListenKey {
    /// About what a listen takes in memory. Its query is kept as the client wrote it and as it was read.
    var bytes: Int {
        path.keys.reduce(Self.listenBytes + 2 * queryText.count) { $0 + $1.string.utf8.count + Self.keyBytes }
    }

    /// What the session and the database keep for each listen.
    private static let listenBytes = 1024
    /// What a key takes beside its text.
    private static let keyBytes = 64
}

extension ListenKey: Hashable {
    static func == (a: ListenKey, b: ListenKey) -> Bool { a.path == b.path && a.query == b.query && a.tag == b.tag }

    func hash(into hasher: inout Hasher) {
        hasher.combine(path)
        hasher.combine(query)
        hasher.combine(tag)
    }
}

extension RealtimeRequest {
    /// Which requests may be under way together. Those of different kinds wait for each other.
    enum Kind: Equatable {
        case listen
        /// Clients take its value for newer than the data of listens before it, and for older than those after it.
        case get
        case write
        /// It runs alone.
        case other
    }

    var kind: Kind {
        switch self {
        case .listen: .listen
        case .get: .get
        case .write: .write
        case .statistics, .authenticate, .authenticateServer, .unauthenticate, .provideApp, .removeApp, .unlisten,
            .onDisconnect, .endFormerSession, .invalid:
            .other
        }
    }

    /// Whether the database may be asked again after it has failed. Not for a write: others under way would come before it, and
    /// it may be durable nevertheless. A registration runs alone, and repeating one changes nothing unless it increments.
    var mayBeRepeated: Bool {
        switch self {
        case .listen, .get, .onDisconnect, .endFormerSession: true
        default: false
        }
    }
}

extension RealtimeRequest: Equatable {
    static func == (a: RealtimeRequest, b: RealtimeRequest) -> Bool {
        switch (a, b) {
        case (.statistics, .statistics), (.unauthenticate, .unauthenticate), (.removeApp, .removeApp): true
        case (.authenticate(let a), .authenticate(let b)): a == b
        case (.authenticateServer(let a, let override), .authenticateServer(let b, let other)):
            a == b && override == other
        case (.provideApp(let a), .provideApp(let b)): a == b
        case (.listen(let a, let known), .listen(let b, let other)): a == b && known == other
        case (.unlisten(let a), .unlisten(let b)): a == b
        case (.get(let a, let query), .get(let b, let other)): a == b && query == other
        case (.write(let a), .write(let b)): a.isSame(as: b)
        case (.onDisconnect(.write(let a)), .onDisconnect(.write(let b))): a.isSame(as: b)
        case (.onDisconnect(.cancel(let a)), .onDisconnect(.cancel(let b))): a == b
        case (.endFormerSession(let a), .endFormerSession(let b)): a == b
        case (.invalid(let a), .invalid(let b)): a == b
        default: false
        }
    }
}

extension RealtimeWrite {
    /// Whether both do the same to a tree that is empty before.
    fileprivate func isSame(as other: RealtimeWrite) -> Bool {
        switch (self, other) {
        case (.set(_, _, let hash), .set(_, _, let otherHash)) where hash == otherHash: break
        case (.update, .update): break
        default: return false
        }
        let changes = resolved(now: 0) { _ in nil }
        return changes == other.resolved(now: 0) { _ in nil }
    }
}
