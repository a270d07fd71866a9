import FunctionManifest

/// An HTTP function: it gets requests of any method and path below its name.
///
///     onRequest("catalog") { request in
///         try .json(["path": request.path])
///     }
///
/// - Parameters:
///   - name: matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
///   - handler: what it throws as ``HttpsError`` is answered as JSON with the code's status; anything else is logged
///     and answered 500.
public func onRequest(
    _ name: String, _ options: HTTPOption...,
    handler: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
) -> Function {
    let options = FunctionOptions(options)
    return Function(
        name: name, options: options, trigger: .http(.init(cors: options.cors ?? .off)), handler: .http(handler))
}
