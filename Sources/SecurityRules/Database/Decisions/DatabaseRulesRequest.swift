package import DocumentModel
package import StrictJSON

/// What a client wants to do, as the Realtime Database's rules see it. Admins aren't subject to rules.
package struct DatabaseRulesRequest: Sendable {
    package enum Operation: Sendable {
        /// A get or a listen. The query is nil for all that is at the path.
        case read([String], DatabaseRulesQuery?)
        /// The locations that a write sets or deletes: one, or those of an update.
        case write([[String]])
    }

    package var operation: Operation
    /// The variable `auth`: null, or an object with uid, provider and token.
    package var auth: JSONValue
    /// The variable `now`, in milliseconds since 1970. A write's server timestamps have this value.
    package var now: Int64

    package init(_ operation: Operation, auth: JSONValue, now: Int64) {
        self.operation = operation
        self.auth = auth
        self.now = now
    }

    package static func read(
        _ path: [String], _ query: DatabaseRulesQuery? = nil, auth: JSONValue, now: Int64
    ) -> Self {
        Self(.read(path, query), auth: auth, now: now)
    }

    package static func write(_ paths: [[String]], auth: JSONValue, now: Int64) -> Self {
        Self(.write(paths), auth: auth, now: now)
    }

    /// The variable `auth` of a signed-in user: uid, provider (as the token's `firebase.sign_in_provider` says), and token
    /// with all claims.
    package static func auth(_ client: ClientIdentity?) -> JSONValue {
        guard let client else { return .null }
        var claims = JSONObject(client.claims.map { ($0.key, json($0.value)) })
        if claims["sub"] == nil { claims["sub"] = .string(client.uid) }
        let token = JSONValue.object(claims)
        let provider = token["firebase"]?["sign_in_provider"] ?? token["provider_id"] ?? .null
        return ["uid": .string(client.uid), "provider": provider, "token": token]
    }

    private static func json(_ value: Value) -> JSONValue {
        switch value {
        case .boolean(let value): .bool(value)
        case .integer(let value): .integer(value)
        case .double(let value): .double(value)
        case .string(let value): .string(value)
        case .array(let values): .array(values.map(json))
        case .map(let fields): .object(JSONObject(fields.map { ($0.key, json($0.value)) }))
        // Claims are JSON and have no others.
        default: .null
        }
    }
}

/// The variable `query`.
package struct DatabaseRulesQuery: Sendable {
    package enum Order: Equatable, Sendable {
        case key, value, priority
        /// The path of a child: `height` or `about/order`.
        case child(String)
    }

    package var order: Order
    /// Null if absent.
    package var startAt: DatabaseRulesValue
    package var endAt: DatabaseRulesValue
    package var equalTo: DatabaseRulesValue
    package var limitToFirst: Int?
    package var limitToLast: Int?

    package init(
        order: Order = .key, startAt: DatabaseRulesValue = .null, endAt: DatabaseRulesValue = .null,
        equalTo: DatabaseRulesValue = .null, limitToFirst: Int? = nil, limitToLast: Int? = nil
    ) {
        self.order = order
        self.startAt = startAt
        self.endAt = endAt
        self.equalTo = equalTo
        self.limitToFirst = limitToFirst
        self.limitToLast = limitToLast
    }

    /// A query by its bounds, as WebSocket clients send them: two inclusive bounds of one value are `equalTo`.
    ///
    /// - Parameters:
    ///   - start: the value and whether the range begins with it; nil if the range has no beginning.
    ///   - end: the value and whether the range ends with it; nil if the range has no end.
    package init(
        order: Order, start: (value: DatabaseRulesValue, isInclusive: Bool)?,
        end: (value: DatabaseRulesValue, isInclusive: Bool)?, limitToFirst: Int? = nil, limitToLast: Int? = nil
    ) {
        self.init(order: order, limitToFirst: limitToFirst, limitToLast: limitToLast)
        if let start, let end, start.isInclusive, end.isInclusive, start.value == end.value {
            equalTo = start.value
        } else {
            startAt = start?.value ?? .null
            endAt = end?.value ?? .null
        }
    }
}
