@testable import RealtimeAPI
import RealtimeHashing
import RealtimeModel

/// A session with what it does as lines of text.
struct SessionScript {
    var session: RealtimeSession

    init(_ opening: RealtimeSession.Opening = .init(host: "h"), limits: RealtimeConnectionLimits = .init()) {
        session = RealtimeSession(id: "S", opening, limits: limits)
    }

    mutating func begin() -> [String] { Self.lines(session.begin(now: 5)) }

    /// Receives a message as it is on the wire.
    mutating func say(_ text: String) -> [String] {
        var text = text
        let message = text.withUTF8 { RealtimeMessage(parsing: UnsafeRawBufferPointer($0)) }
        return Self.lines(session.receive(message, bytes: text.utf8.count))
    }

    /// Receives a request.
    mutating func ask(_ number: Int, _ action: String, _ body: String) -> [String] {
        say(#"{"t":"d","d":{"r":\#(number),"a":"\#(action)","b":\#(body)}}"#)
    }

    mutating func answered(_ id: Int64, _ answer: RequestAnswer) -> [String] {
        Self.lines(session.answered(id, answer))
    }

    mutating func retry(_ id: Int64) -> [String] { Self.lines(session.retry(id)) }

    mutating func isBackedUp(_ isBackedUp: Bool) -> [String] { Self.lines(session.setBackedUp(isBackedUp)) }

    mutating func hasUnreadAnswers(bytes: Int) -> [String] { Self.lines(session.setUnreadAnswers(bytes: bytes)) }

    mutating func verified(_ id: Int64, _ principal: RealtimePrincipal, until: Int64? = nil) -> [String] {
        Self.lines(session.verified(id, .success(.init(principal, until: until))))
    }

    mutating func received(_ event: RealtimeListenEvent, of id: Int64) -> [String] {
        if case .push(let push) = event {
            return session.tag(ofPushesTo: id).map { [Self.text(push.message(tag: $0))] } ?? []
        }
        return Self.lines(session.received(event, of: id))
    }

    /// A listen begins with a value.
    mutating func began(_ id: Int64, _ json: String) -> [String] {
        received(.began(RealtimeListenStart(.value(.bytes(Array(json.utf8))))), of: id)
    }

    static func lines(_ actions: [RealtimeSession.Action]) -> [String] { actions.map(line) }

    private static func line(_ action: RealtimeSession.Action) -> String {
        switch action {
        case .send(let message): text(message)
        case .sendValue(_, let before, .bytes(let value), let after): text(before + value + after)
        case .sendValue(_, let before, .stream, let after): "\(text(before))…\(text(after))"
        case .perform(let id, let request, let principal): "perform \(id) \(name(request)) as \(name(principal))"
        case .verify(let id, let token, let override):
            "verify \(id) \(token)\(override.map { " as \(name($0.principal))" } ?? "")"
        case .verifyApp(let id, let token): "verify app \(id) \(token)"
        case .listen(let id, let key, let known, let principal):
            "listen \(id) \(key.path)\(key.query == nil ? "" : " by query")\(known.map { " with \($0.hash)" } ?? "") as \(name(principal))"
        case .cancel(let id): "cancel \(id)"
        case .authorize(let id, let listens, let principal): "authorize \(id) \(listens) as \(name(principal))"
        case .setReading(let isReading): isReading ? "read" : "pause"
        case .setTokenEnd(let time): time.map { "token ends \($0)" } ?? "token ends never"
        case .setAppTokenEnd(let time): time.map { "app token ends \($0)" } ?? "app token ends never"
        case .retry(let id, let pause): "retry \(id) within \(pause)"
        case .close: "close"
        case .closeLater: "close later"
        }
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func name(_ request: RealtimeRequest) -> String {
        switch request {
        case .get(let path, let query): "get \(path)\(query == nil ? "" : " by query")"
        case .write(let write): "write \(name(write))"
        case .onDisconnect(.write(let write)): "onDisconnect \(name(write))"
        case .onDisconnect(.cancel(let target)): "cancel onDisconnect \(target)"
        case .endFormerSession(let id): "end \(id)"
        default: "\(request)"
        }
    }

    private static func name(_ write: RealtimeWrite) -> String {
        let condition: String
        if case .set(_, _, let hash?) = write { condition = " if \"\(hash)\"" } else { condition = "" }
        let changes = write.resolved(now: 0) { _ in nil }.map { change in
            "\(change.target)=\(change.node.map { text($0.json(as: .export)) } ?? "null")"
        }
        return changes.joined(separator: " ") + condition
    }

    private static func name(_ principal: RealtimePrincipal) -> String {
        switch principal {
        case .admin: "admin"
        case .client(nil): "-"
        case .client(let auth?): auth.uid ?? "?"
        }
    }
}
