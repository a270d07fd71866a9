import FunctionManifest

/// An HTTP function: it handles requests of any method and path below its name.
///
///     onRequest("catalog") { request in
///         try .json(["path": request.path])
///     }
///
/// - Parameters:
///   - name: matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
///   - options: What differs from the bundle's defaults.
///   - handler: An ``HttpsError`` that it throws becomes a JSON response with the code's status; any other error is
///     logged and becomes a 500 response.
public func onRequest(_ name: String, _ options: HTTPOption..., handler: @escaping HTTPHandler) -> Function {
    http(name, options, handler)
}

/// An HTTP function with a route for each method and path that it handles; see ``Routes``.
///
///     onRequest(routing: "api") { routes in
///         routes.get("items/{id}") { request in
///             try .json(try await item(request.parameter("id")))
///         }
///     }
///
/// If a route's pattern is malformed, or two routes match the same requests, the bundle exits at startup with an error
/// that names the function and the route.
///
/// - Parameters:
///   - name: matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
///   - list: lists the routes, once, when the process starts. Params have no values yet: read them in handlers.
///   - options: What differs from the bundle's defaults.
public func onRequest(routing name: String, _ options: HTTPOption..., list: (inout Routes) -> Void) -> Function {
    var routes = Routes()
    list(&routes)
    let router = Router(routes)
    return http(name, options, problems: router.problems) { try await router.respond(to: $0) }
}

extension HTTPRequest {
    @discardableResult
    @available(*, unavailable, message: "list routes with onRequest(routing: \"api\") { routes in … }")
    public func get(_ pattern: String, handler: HTTPHandler) -> HTTPResponse { HTTPResponse() }

    @discardableResult
    @available(*, unavailable, message: "list routes with onRequest(routing: \"api\") { routes in … }")
    public func post(_ pattern: String, handler: HTTPHandler) -> HTTPResponse { HTTPResponse() }
}

private func http(
    _ name: String, _ options: [HTTPOption], problems: [String] = [], _ handler: @escaping HTTPHandler
) -> Function {
    Function(name, options, problems: problems) { options in
        (.http(.init(cors: options.cors ?? .off)), .http(handler))
    }
}
