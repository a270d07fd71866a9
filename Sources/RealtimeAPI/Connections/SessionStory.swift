import Logging
import RealtimeModel

/// Tells what one session does, in the log at the level debug.
///
/// Each line has the beginning of the session's id. The whole id is the client's secret: who knows it can end the session.
struct SessionStory {
    private static let shownCharacters = 8

    private let logger: Logger
    private let isTold: Bool
    private var requests: [RealtimeSession.OperationID: (summary: String, start: ContinuousClock.Instant)] = [:]
    private var listens: [RealtimeSession.ListenID: String] = [:]

    init(_ key: RealtimeSessions.Key, _ logger: Logger) {
        var logger = logger
        logger[metadataKey: "database.name"] = "\(key.database)"
        logger[metadataKey: "database.session"] = "\(key.session.prefix(Self.shownCharacters))"
        self.logger = logger
        isTold = logger.logLevel <= .debug
    }

    func connected(former: String?) {
        guard isTold else { return }
        logger.debug(
            "a client has connected",
            metadata: former.map { ["database.former": "\($0.prefix(Self.shownCharacters))"] } ?? [:])
    }

    func switched() { if isTold { logger.debug("the client has gone over to a WebSocket") } }

    mutating func asked(_ id: RealtimeSession.OperationID, _ request: @autoclosure () -> String) {
        if isTold { requests[id] = (request(), .now) }
    }

    mutating func answered(_ id: RealtimeSession.OperationID, _ answer: @autoclosure () -> String) {
        guard isTold, let request = requests.removeValue(forKey: id) else { return }
        logger.debug(
            "\(request.summary): \(answer())",
            metadata: ["duration.ms": "\(Int((.now - request.start) / .milliseconds(1)))"])
    }

    mutating func listens(_ id: RealtimeSession.ListenID, to key: ListenKey) {
        if isTold { listens[id] = "listen to \(key.path)" + (key.query == nil ? "" : " by a query") }
    }

    mutating func received(_ event: RealtimeListenEvent, of id: RealtimeSession.ListenID) {
        guard isTold, let listen = listens[id] else { return }
        switch event {
        case .began(let start): logger.debug("\(listen): \(start.data.summary)")
        case .ended(let error):
            listens[id] = nil
            logger.debug("\(listen): \(error.status), \(error.message)")
        case .push: break
        }
    }

    mutating func listenEnded(_ id: RealtimeSession.ListenID) {
        guard isTold, let listen = listens.removeValue(forKey: id) else { return }
        logger.debug("\(listen): ended by the client")
    }

    /// - Parameter reason: what has ended the connection.
    mutating func ended(_ reason: String) {
        guard isTold else { return }
        logger.debug(
            "the session ends: \(reason)",
            metadata: ["database.listens": "\(listens.count)", "database.unanswered": "\(requests.count)"])
        listens = [:]
    }

    func finished() { if isTold { logger.debug("what the client had registered for its end is done") } }
}

extension RealtimeListenStart.Data {
    fileprivate var summary: String {
        switch self {
        case .unchanged: "ok, the client has it already"
        case .value(.bytes(let bytes)): "ok, \(bytes.count) bytes"
        case .value(.stream): "ok, a large value"
        case .ranges: "ok, the parts that differ from what the client has"
        }
    }
}

extension RequestAnswer {
    var summary: String {
        switch self {
        case .done, .listening: "ok"
        case .value(.bytes(let bytes)): "ok, \(bytes.count) bytes"
        case .value(.stream): "ok, a large value"
        case .authenticated(.admin): "an admin"
        case .authenticated(.client(let auth)): auth?.uid.map { "the user \($0)" } ?? "no user"
        case .failure(let error): "\(error.status), \(error.message)"
        }
    }
}

extension RealtimeRequest {
    /// What is asked for, without values and tokens.
    var summary: String {
        switch self {
        case .statistics: "statistics"
        case .authenticate, .authenticateServer: "sign in"
        case .unauthenticate: "sign out"
        case .provideApp: "verify the app"
        case .removeApp: "remove the app's token"
        case .listen(let key, _): "listen to \(key.path)"
        case .unlisten(let key): "unlisten to \(key.path)"
        case .get(let path, let query): "get \(path)" + (query == nil ? "" : " by a query")
        case .write(let write): write.summary
        case .onDisconnect(.write(let write)): "on disconnect \(write.summary)"
        case .onDisconnect(.cancel(let target)): "cancel on disconnect /\(target.string)"
        case .endFormerSession: "end the former session"
        case .invalid: "an invalid request"
        }
    }
}

extension RealtimeWrite {
    fileprivate var summary: String {
        switch self {
        case .set(let target, _, let hash): "set /\(target.string)" + (hash == nil ? "" : " if unchanged")
        case .update(let update): "update \(update.entries.count) paths"
        }
    }
}
