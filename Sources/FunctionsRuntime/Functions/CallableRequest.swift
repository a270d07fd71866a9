import WorkerProtocol

/// A call of a callable function, with its data decoded as the author's type.
public struct CallableRequest<Input: Decodable & Sendable>: FunctionInput {
    /// What the client sent.
    public let data: Input
    public let context: FunctionContext

    package init(data: Input, context: InvocationContext) {
        self.data = data
        self.context = FunctionContext(context)
    }

    /// The signed-in user; nil if the request has no ID token. A request with an invalid token doesn't reach the
    /// handler.
    public var auth: AuthData? { context.invocation.head.auth.map(AuthData.init) }

    /// The signed-in user.
    ///
    /// - Throws: ``HttpsError`` with `unauthenticated`, which the caller sees as 401, if there is no signed-in user.
    public func requireAuth() throws -> AuthData {
        guard let auth else { throw HttpsError(.unauthenticated, "Sign in to call this function.") }
        return auth
    }

    /// The calling app; nil if the request has no valid App Check token.
    public var app: AppCheckData? {
        context.invocation.head.app.map { AppCheckData($0, alreadyConsumed: context.invocation.head.appTokenConsumed) }
    }

    /// The id of the app installation, as the client reports it. It isn't verified.
    public var instanceIDToken: String? { headers["Firebase-Instance-ID-Token"] }

    /// The headers of the HTTP request.
    public var headers: Headers { Headers(context.invocation.head.headers) }

    /// The client's address, such as `203.0.113.9` or `2001:db8::1`; nil on a Unix socket. Behind the operator's trusted
    /// proxies, it is the address that they report.
    public var ip: String? { context.invocation.head.address?.description }

    /// Whether the client receives chunks as they are sent.
    public var acceptsStreaming: Bool { context.invocation.head.streams }
}

/// The data of a call without parameters: what the client sends is ignored.
public struct NoData: Codable, Hashable, Sendable {
    public init() {}
    public init(from decoder: any Decoder) throws {}
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encodeNil()
    }
}
