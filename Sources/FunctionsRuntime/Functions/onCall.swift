import FunctionManifest

/// A callable function: clients call it by name with `httpsCallable`.
///
///     onCall("hello", .region(.europeWest1)) { (request: CallableRequest<Name>) in
///         "Hello \(request.data.name)"
///     }
///
/// - Parameters:
///   - name: matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
/// - handler: An ``HttpsError`` that it throws reaches the caller; any other error is logged and reported as INTERNAL.
///   If the data doesn't decode, the caller gets INVALID_ARGUMENT with the path, and the handler doesn't run.
public func onCall<Input: Decodable & Sendable, Output: Encodable & Sendable>(
    _ name: String, _ options: CallableOption...,
    handler: @escaping @Sendable (CallableRequest<Input>) async throws -> Output
) -> Function {
    callable(name, options, CallableHandler(handler))
}

// Forms without a result are disfavored: otherwise the compiler reports nothing but itself ("failed to produce
// diagnostic") for a handler whose returns differ in type.

/// A callable function without a result: the client gets null.
@_disfavoredOverload
public func onCall<Input: Decodable & Sendable>(
    _ name: String, _ options: CallableOption...,
    handler: @escaping @Sendable (CallableRequest<Input>) async throws -> Void
) -> Function {
    callable(name, options, CallableHandler { request in try await nothing(handler(request)) })
}

/// A callable function that sends chunks before its result.
public func onCall<Input: Decodable & Sendable, Chunk: Encodable & Sendable, Output: Encodable & Sendable>(
    _ name: String, _ options: CallableOption...,
    handler: @escaping @Sendable (CallableRequest<Input>, StreamingResponse<Chunk>) async throws -> Output
) -> Function {
    callable(name, options, CallableHandler(handler))
}

/// A callable function that sends chunks and has no result.
@_disfavoredOverload
public func onCall<Input: Decodable & Sendable, Chunk: Encodable & Sendable>(
    _ name: String, _ options: CallableOption...,
    handler: @escaping @Sendable (CallableRequest<Input>, StreamingResponse<Chunk>) async throws -> Void
) -> Function {
    callable(name, options, CallableHandler { request, response in try await nothing(handler(request, response)) })
}

/// A transactional callable function: its writes and its result are one commit.
///
/// The handler may run several times, each time from the start, until its commit succeeds; its writes through the
/// transaction become visible only then. If the caller sends an `Idempotency-Key`, the result is stored under it in the
/// same commit: a repeated call gets the stored result and runs nothing.
public func onCall<Input: Decodable & Sendable, Output: Encodable & Sendable>(
    _ name: String, _ options: CallableOption...,
    handler: @escaping @Sendable (CallableRequest<Input>, Transaction) async throws -> Output
) -> Function {
    callable(name, options, CallableHandler(handler))
}

/// A transactional callable function without a result.
@_disfavoredOverload
public func onCall<Input: Decodable & Sendable>(
    _ name: String, _ options: CallableOption...,
    handler: @escaping @Sendable (CallableRequest<Input>, Transaction) async throws -> Void
) -> Function {
    callable(
        name, options, CallableHandler { request, transaction in try await nothing(handler(request, transaction)) })
}

private func callable(_ name: String, _ options: [CallableOption], _ handler: CallableHandler) -> Function {
    Function(name, options) { options in
        var handler = handler
        handler.authPolicy = options.authPolicy
        let trigger = TriggerManifest.CallableTrigger(
            cors: options.cors ?? .any, enforceAppCheck: options.enforceAppCheck,
            consumeAppCheckToken: options.consumeAppCheckToken,
            heartbeatSeconds: options.heartbeat.map { Int($0.components.seconds) })
        return (.callable(trigger), .callable(handler))
    }
}

private func nothing(_: Void) -> NoData { NoData() }
