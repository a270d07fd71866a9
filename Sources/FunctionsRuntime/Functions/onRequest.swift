import FunctionManifest

/// An HTTP function: it handles requests of any method and path below its name.
///
///     onRequest("catalog") { request in
///         try .json(["path": request.path])
///     }
///
/// - Parameters:
///   - name: matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
/// - handler: An ``HttpsError`` that it throws becomes a JSON response with the code's status; any other error is
///   logged and becomes a 500 response.
public func onRequest(
    _ name: String, _ options: HTTPOption...,
    handler: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
) -> Function {
    let options = FunctionOptions(options)
    return Function(
        name: name, options: options, trigger: .http(.init(cors: options.cors ?? .off)), handler: .http(handler))
}
