public import Logging
import WorkerProtocol

/// A call of a callable function, its data decoded into the author's type.
public struct CallableRequest<Input: Decodable & Sendable>: Sendable {
    /// What the client sent.
    public let data: Input
    private let context: InvocationContext

    package init(data: Input, context: InvocationContext) {
        self.data = data
        self.context = context
    }

    /// The signed-in user; nil where the request has no ID token. A request with an invalid one never gets here.
    public var auth: AuthData? { context.head.auth.map(AuthData.init) }

    /// The signed-in user, or UNAUTHENTICATED.
    ///
    /// - Throws: ``HttpsError`` with `unauthenticated`, which the caller sees as 401, where nobody is signed in.
    public func requireAuth() throws -> AuthData {
        guard let auth else { throw HttpsError(.unauthenticated, "Sign in to call this function.") }
        return auth
    }

    /// The app that calls; nil where the request has no valid App Check token.
    public var app: AppCheckData? {
        context.head.app.map { AppCheckData($0, alreadyConsumed: context.head.appTokenConsumed) }
    }

    /// The caller's installation, as it says itself: nobody has verified this.
    public var instanceIDToken: String? { headers["Firebase-Instance-ID-Token"] }

    /// The headers of the HTTP request.
    public var headers: Headers { Headers(context.head.headers) }

    /// The id of this run, as in the log.
    public var executionID: String { context.head.executionID }

    /// When the caller is answered DEADLINE_EXCEEDED and the handler's task is cancelled.
    public var deadline: ContinuousClock.Instant { context.deadline }

    /// Whether the run should stop: the deadline has passed, the client has hung up or the host is stopping.
    public var isCancelled: Bool { Task.isCancelled }

    /// A logger whose lines carry the function and the execution id.
    public var logger: Logger { context.logger }

    /// The documents, as admin: rules don't apply to functions.
    public var firestore: Firestore { Firestore(transport: context.transport) }

    /// Whether the client reads chunks as they come.
    public var acceptsStreaming: Bool { context.head.streams }
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
