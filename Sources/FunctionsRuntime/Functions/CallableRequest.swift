import WorkerProtocol

/// A call of a callable function, its data decoded into the author's type.
public struct CallableRequest<Input: Decodable & Sendable>: FunctionInput {
    /// What the client sent.
    public let data: Input
    public let context: FunctionContext

    package init(data: Input, context: InvocationContext) {
        self.data = data
        self.context = FunctionContext(context)
    }

    /// The signed-in user; nil where the request has no ID token. A request with an invalid one never gets here.
    public var auth: AuthData? { context.invocation.head.auth.map(AuthData.init) }

    /// The signed-in user, or UNAUTHENTICATED.
    ///
    /// - Throws: ``HttpsError`` with `unauthenticated`, which the caller sees as 401, where nobody is signed in.
    public func requireAuth() throws -> AuthData {
        guard let auth else { throw HttpsError(.unauthenticated, "Sign in to call this function.") }
        return auth
    }

    /// The app that calls; nil where the request has no valid App Check token.
    public var app: AppCheckData? {
        context.invocation.head.app.map { AppCheckData($0, alreadyConsumed: context.invocation.head.appTokenConsumed) }
    }

    /// The caller's installation, as it says itself: nobody has verified this.
    public var instanceIDToken: String? { headers["Firebase-Instance-ID-Token"] }

    /// The headers of the HTTP request.
    public var headers: Headers { Headers(context.invocation.head.headers) }

    /// Whether the client reads chunks as they come.
    public var acceptsStreaming: Bool { context.invocation.head.streams }
}

/// The data of a call that needs none: whatever the client sends is ignored.
public struct NoData: Codable, Hashable, Sendable {
    public init() {}
    public init(from decoder: any Decoder) throws {}
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encodeNil()
    }
}
