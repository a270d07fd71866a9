import RealtimeModel
import StrictJSON

/// Writes messages to clients.
enum ServerMessage {
    /// The server's first message.
    ///
    /// - Parameters:
    ///   - time: milliseconds since 1970.
    ///   - host: where the client reconnects to.
    static func hello(time: Int64, host: String, session: String) -> [UInt8] {
        write { writer in
            writer.raw(#"{"t":"c","d":{"t":"h","d":{"ts":"#)
            writer.integer(time)
            writer.raw(#","v":"5","h":"#)
            writer.string(host)
            writer.raw(#","s":"#)
            writer.string(session)
            writer.raw("}}}")
        }
    }

    /// A control: `o` for the answer to a ping, `a` and `n` for an upgrade, `r` with a host, `s` and `e` with a sentence.
    static func control(_ kind: StaticString, _ text: String? = nil) -> [UInt8] {
        write { writer in
            writer.raw(#"{"t":"c","d":{"t":""#)
            writer.raw(kind)
            writer.raw(#"","d":"#)
            if let text { writer.string(text) } else { writer.raw("{}") }
            writer.raw("}}")
        }
    }

    // MARK: Answers

    static func ok(_ number: Int64) -> [UInt8] { answer(number, "ok") { $0.raw(#""""#) } }

    /// The answer to a listen.
    static func listening(_ number: Int64, isIndexed: Bool) -> [UInt8] {
        answer(number, "ok") { $0.raw(isIndexed ? "{}" : #"{"w":["no_index"]}"#) }
    }

    /// The answer to `auth`, `gauth` and `unauth`.
    static func authenticated(_ number: Int64, _ principal: RealtimePrincipal) -> [UInt8] {
        guard principal != .client(nil) else { return ok(number) }
        let auth: RealtimeAuth? = if case .client(let auth) = principal { auth } else { nil }
        return answer(number, "ok") { writer in
            writer.raw(#"{"auth":"#)
            // A verified token's claims are JSON.
            if let auth { try? writer.value(auth.variable) } else { writer.null() }
            if let expires = auth?.variable["token"]?["exp"] {
                writer.raw(#","expires":"#)
                try? writer.value(expires)
            }
            writer.raw("}")
        }
    }

    static func refusal(_ number: Int64, _ error: RealtimeServiceError) -> [UInt8] {
        answer(number, error.status) { $0.string(error.message) }
    }

    /// The bytes before and after the value that a get answers.
    static func getEnvelope(_ number: Int64) -> (before: [UInt8], after: [UInt8]) {
        let before = write { writer in
            writer.raw(#"{"t":"d","d":{"r":"#)
            writer.integer(number)
            writer.raw(#","b":{"s":"ok","d":"#)
        }
        return (before, Array("}}}".utf8))
    }

    private static func answer(_ number: Int64, _ status: String, _ data: (inout JSONWriter) -> Void) -> [UInt8] {
        write { writer in
            writer.raw(#"{"t":"d","d":{"r":"#)
            writer.integer(number)
            writer.raw(#","b":{"s":"#)
            writer.string(status)
            writer.raw(#","d":"#)
            data(&writer)
            writer.raw("}}}")
        }
    }

    // MARK: Pushes

    /// The bytes before and after the value that a listen begins with.
    static func dataEnvelope(_ listen: ListenKey) -> (before: [UInt8], after: [UInt8]) { envelope("d", listen) }

    /// The bytes before and after the ranges that differ from what a client has.
    static func rangesEnvelope(_ listen: ListenKey) -> (before: [UInt8], after: [UInt8]) { envelope("rm", listen) }

    private static func envelope(_ action: StaticString, _ listen: ListenKey) -> (before: [UInt8], after: [UInt8]) {
        let before = write { writer in
            writer.raw(#"{"t":"d","d":{"a":""#)
            writer.raw(action)
            writer.raw(#"","b":{"p":"#)
            writer.string(listen.path.string)
            writer.raw(#","d":"#)
        }
        return (before, write { end(&$0, tag: listen.tag) })
    }

    /// A listen is revoked.
    static func revoked(_ listen: ListenKey) -> [UInt8] {
        let before = write { writer in
            writer.raw(#"{"t":"d","d":{"a":"c","b":{"p":"#)
            writer.string(listen.path.string)
        }
        guard listen.query != nil else { return before + "}}}".utf8 }
        return before + #","q":["#.utf8 + listen.queryText + "]}}}".utf8
    }

    /// The client's token has ended: it closes, and returns with a new one.
    static func tokenEnded(_ error: RealtimeServiceError) -> [UInt8] { ended("ac", error) }

    /// Its app's token has ended: likewise.
    static func appTokenEnded(_ error: RealtimeServiceError) -> [UInt8] { ended("apc", error) }

    private static func ended(_ action: StaticString, _ error: RealtimeServiceError) -> [UInt8] {
        write { writer in
            writer.raw(#"{"t":"d","d":{"a":""#)
            writer.raw(action)
            writer.raw(#"","b":{"s":"#)
            writer.string(error.status)
            writer.raw(#","d":"#)
            writer.string(error.message)
            writer.raw("}}}")
        }
    }

    private static func end(_ writer: inout JSONWriter, tag: Int64?) {
        if let tag {
            writer.raw(#","t":"#)
            writer.integer(tag)
        }
        writer.raw("}}}")
    }

    private static func write(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(capacity: 128)
        body(&writer)
        return writer.bytes
    }
}
