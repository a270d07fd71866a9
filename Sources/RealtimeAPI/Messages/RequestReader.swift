import RealtimeHashing
import RealtimeModel
import StrictJSON

/// Reads a request's body.
struct RequestReader {
    private let body: MessageMembers

    /// Keys of a path and a bound fit several times.
    private static let maxQueryBytes = 16 * 1024

    /// - Parameter body: nil if the message has none.
    init(_ body: UnsafeRawBufferPointer?) throws(RealtimeServiceError) {
        guard let body, let members = try? MessageMembers(text: body) else {
            throw .failed("The request's body is not an object.")
        }
        self.body = members
    }

    func request(_ action: String) throws(RealtimeServiceError) -> RealtimeRequest {
        switch action {
        case "s": .statistics
        case "q": .listen(try listenKey(), known())
        case "n": .unlisten(try listenKey())
        case "g": .get(try path(), try query())
        case "p": .write(.set(try target(), try value(), ifHash: try hash()))
        case "m": .write(.update(try update()))
        case "o": .onDisconnect(.write(.set(try target(), try value())))
        case "om": .onDisconnect(.write(.update(try update())))
        case "oc": .onDisconnect(.cancel(try target()))
        case "auth": .authenticate(token: try token("cred"))
        case "gauth": .authenticateServer(token: try token("cred"), try override())
        case "unauth": .unauthenticate
        case "appcheck": .provideApp(token: try token("token"))
        // Clients spell it so.
        case "unappeck", "unappcheck": .removeApp
        default: throw .unknownRequest(action)
        }
    }

    // MARK: Places

    private func pathText() throws(RealtimeServiceError) -> String {
        let text: String?
        do throws(JSONError) { text = try body.pairedString("p") } catch {
            throw .invalid(RealtimeError(.json(error.problem)))
        }
        guard let text else { throw .failed("The request has no path.") }
        return text
    }

    private func path() throws(RealtimeServiceError) -> RealtimePath {
        let text = try pathText()
        do throws(RealtimeError) { return try RealtimePath(text) } catch { throw .invalid(error) }
    }

    private func target() throws(RealtimeServiceError) -> RealtimeTarget {
        let text = try pathText()
        do throws(RealtimeError) { return try RealtimeTarget(text) } catch { throw .invalid(error) }
    }

    // MARK: Values

    private func value() throws(RealtimeServiceError) -> RealtimeWriteValue {
        let target = try target()
        guard let text = body["d"] else { return RealtimeWriteValue(nil) }
        do throws(RealtimeError) {
            return try RealtimeWriteValue(parsing: text, at: target)
        } catch {
            throw .invalid(error)
        }
    }

    private func update() throws(RealtimeServiceError) -> RealtimeUpdate {
        let path = try path()
        guard let text = body["d"] else { throw .invalid(RealtimeError(.updateNotObject, at: path)) }
        do throws(RealtimeError) {
            return try RealtimeUpdate(parsing: text, at: path)
        } catch {
            throw .invalid(error)
        }
    }

    /// The hash on whose condition a value is set. With one that can't be read it isn't set.
    private func hash() throws(RealtimeServiceError) -> String? {
        let json: JSONValue?
        do throws(JSONError) { json = try body.value("h") } catch { throw .failed("The hash is not a string.") }
        guard let json, !json.isNull else { return nil }
        guard let hash = json.stringValue else { throw .failed("The hash is not a string.") }
        return hash
    }

    // MARK: Listens

    private func listenKey() throws(RealtimeServiceError) -> ListenKey {
        let query = try query()
        let path = try path()
        guard query != nil else { return ListenKey(path: path) }
        return ListenKey(path: path, query: query, tag: body.integer("t"), queryText: body["q"].map { Array($0) } ?? [])
    }

    /// - Returns: nil if the request has none, or one that asks for nothing but the value as it is.
    private func query() throws(RealtimeServiceError) -> RealtimeQuery? {
        // A listen keeps the text.
        guard body["q"]?.count ?? 0 <= Self.maxQueryBytes else {
            throw .failed("The query has more than \(Self.maxQueryBytes) bytes.")
        }
        let json: JSONValue?
        do throws(JSONError) { json = try body.value("q") } catch { throw .query(.notAnObject) }
        guard let json, !json.isNull else { return nil }
        let query: RealtimeQuery
        do throws(RealtimeQueryError) { query = try RealtimeQuery(message: json) } catch { throw .query(error) }
        return query.isDefault ? nil : query
    }

    private func known() -> RealtimeListen.Known? {
        guard let hash = body.string("h"), !hash.isEmpty else { return nil }
        let compound = (try? body.value("ch")).flatMap { json in json.flatMap { RealtimeCompoundHash($0) } }
        return RealtimeListen.Known(hash: hash, compound: compound)
    }

    // MARK: Credentials

    private func token(_ name: StaticString) throws(RealtimeServiceError) -> String {
        guard let token = body.string(name) else { throw .invalidToken }
        return token
    }

    private func override() throws(RealtimeServiceError) -> RealtimeCredentials.Override? {
        if body.isTrue("noauth") { return .unauthenticated }
        let variable: JSONValue?
        do throws(JSONError) { variable = try body.value("authvar") } catch {
            throw .failed("authvar is not an object.")
        }
        switch variable {
        case nil: return nil
        case .null?: return .unauthenticated
        case .object?: return variable.map { .variable($0) }
        default: throw .failed("authvar is not an object.")
        }
    }
}
