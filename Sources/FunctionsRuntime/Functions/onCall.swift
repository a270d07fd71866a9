import FunctionManifest

/// A callable function: clients call it by name with `httpsCallable`.
///
///     onCall("hello", .region(.europeWest1)) { (request: CallableRequest<Name>) in
///         "Hello \(request.data.name)"
///     }
///
/// - Parameters:
///   - name: matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
///   - options: What differs from the bundle's defaults.
///   - handler: An ``HttpsError`` that it throws reaches the caller; any other error is logged and reported as INTERNAL.
///     If the data doesn't decode, the caller gets INVALID_ARGUMENT with the path, and the handler doesn't run.
public func onCall<Input: Decodable & Sendable, Output: Encodable & Sendable>(
    _ name: String, _ options: CallableOption<Input>...,
    handler: @escaping @Sendable (CallableRequest<Input>) async throws -> Output
) -> Function {
    callable(name, options, CallableHandler(handler))
}

// Forms without a result are disfavored: otherwise the compiler reports nothing but itself ("failed to produce
// diagnostic") for a handler whose returns differ in type.

/// A callable function without a result: the client gets null.
@_disfavoredOverload
public func onCall<Input: Decodable & Sendable>(
    _ name: String, _ options: CallableOption<Input>...,
    handler: @escaping @Sendable (CallableRequest<Input>) async throws -> Void
) -> Function {
    callable(name, options, CallableHandler { request in try await nothing(handler(request)) })
}

/// A callable function whose result is an object of values of different types, in this order:
///
///     onCall("hello") { (request: CallableRequest<Name>) in
///         ["text": "Hello \(request.data.name)", "length": request.data.name.count, "tags": ["new", 1]]
///     }
///
/// The values are those that can be encoded, nil, and arrays and dictionaries of these.
///
/// - Parameters:
///   - name: Matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
///   - options: What differs from the bundle's defaults.
///   - mixed: Leave it out. With it, the compiler prefers the form without a result for handlers that return nothing.
///   - handler: As for other callable functions.
@_disfavoredOverload
public func onCall<Input: Decodable & Sendable>(
    _ name: String, _ options: CallableOption<Input>..., mixed: Void = (),
    handler: @escaping @Sendable (CallableRequest<Input>) async throws -> KeyValuePairs<String, Any?>
) -> Function {
    callable(name, options, CallableHandler { request in try MixedJSON.object(await handler(request)) })
}

/// A callable function that sends chunks before its result.
public func onCall<Input: Decodable & Sendable, Chunk: Encodable & Sendable, Output: Encodable & Sendable>(
    _ name: String, _ options: CallableOption<Input>...,
    handler: @escaping @Sendable (CallableRequest<Input>, StreamingResponse<Chunk>) async throws -> Output
) -> Function {
    callable(name, options, CallableHandler(handler))
}

/// A callable function that sends chunks and has no result.
@_disfavoredOverload
public func onCall<Input: Decodable & Sendable, Chunk: Encodable & Sendable>(
    _ name: String, _ options: CallableOption<Input>...,
    handler: @escaping @Sendable (CallableRequest<Input>, StreamingResponse<Chunk>) async throws -> Void
) -> Function {
    callable(name, options, CallableHandler { request, response in try await nothing(handler(request, response)) })
}

/// A transactional callable function: its writes and its result are one commit.
///
/// The handler may run several times, each time from the start, until its commit succeeds; its writes through the
/// transaction become visible only then. If the call has an idempotency key, the result is stored under it in the same
/// commit: a repeated call gets the stored result and runs nothing.
public func onCall<Input: Decodable & Sendable, Output: Encodable & Sendable>(
    _ name: String, _ options: CallableOption<Input>...,
    handler: @escaping @Sendable (CallableRequest<Input>, Transaction) async throws -> Output
) -> Function {
    callable(name, options, CallableHandler(handler))
}

/// A transactional callable function without a result.
@_disfavoredOverload
public func onCall<Input: Decodable & Sendable>(
    _ name: String, _ options: CallableOption<Input>...,
    handler: @escaping @Sendable (CallableRequest<Input>, Transaction) async throws -> Void
) -> Function {
    callable(
        name, options, CallableHandler { request, transaction in try await nothing(handler(request, transaction)) })
}

/// A transactional callable function whose result is an object of values of different types.
@_disfavoredOverload
public func onCall<Input: Decodable & Sendable>(
    _ name: String, _ options: CallableOption<Input>..., mixed: Void = (),
    handler: @escaping @Sendable (CallableRequest<Input>, Transaction) async throws -> KeyValuePairs<String, Any?>
) -> Function {
    callable(
        name, options,
        CallableHandler { request, transaction in try MixedJSON.object(await handler(request, transaction)) })
}

private func callable<Input>(
    _ name: String, _ options: [CallableOption<Input>], _ handler: CallableHandler
) -> Function {
    Function(name, options) { options in
        var handler = handler
        handler.authPolicy = options.authPolicy
        handler.idempotency = options.idempotency
        let trigger = TriggerManifest.CallableTrigger(
            cors: options.cors ?? .any, enforceAppCheck: options.enforceAppCheck,
            consumeAppCheckToken: options.consumeAppCheckToken,
            heartbeatSeconds: options.heartbeat.map { Int($0.components.seconds) },
            hasIdempotencyKey: options.idempotency.key != nil)
        return (.callable(trigger), .callable(handler))
    }
}

private func nothing(_: Void) -> NoData { NoData() }
