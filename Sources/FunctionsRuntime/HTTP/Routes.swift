/// Handles a request after middleware.
public typealias HTTPHandler = @Sendable (HTTPRequest) async throws -> HTTPResponse

/// Runs around handlers: it may answer itself, change the request that it passes on to `next`, or change the response.
public typealias HTTPMiddleware =
    @Sendable (
        _ request: HTTPRequest, _ next: @escaping HTTPHandler
    ) async throws -> HTTPResponse

/// The routes of an HTTP function, by method and path.
///
///     onRequest(routing: "api") { routes in
///         routes.get("items/{id}") { request in
///             let id = try request.parameter("id", as: Int.self)
///             return try .json(try await item(id))
///         }
///         routes.group("admin") { admin in
///             admin.use(onlyAdmins)
///             admin.delete("items/{id}") { request in … }
///         }
///     }
///
/// A pattern is a path in which `{id}` stands for one segment and `{path=**}`, at its end, for any number of segments.
/// Text in a segment goes before `{id}`, and `{id}` before `{path=**}`, in whatever order the routes are listed. Letters
/// are distinguished by case; a slash at either end doesn't matter. Segments are decoded one by one, so that
/// `/items/a%2Fb` is one item.
///
/// A path without a route is answered with 404. One that has routes for other methods is answered with 405 and `Allow`,
/// or for OPTIONS with 204 and `Allow`. HEAD runs the route of GET.
public struct Routes {
    struct Entry {
        var method: String
        var pattern: String
        var handler: HTTPHandler
    }

    private(set) var entries: [Entry] = []
    private(set) var middleware: [HTTPMiddleware] = []

    public mutating func get(_ pattern: String, handler: @escaping HTTPHandler) { on("GET", pattern, handler: handler) }

    public mutating func post(_ pattern: String, handler: @escaping HTTPHandler) {
        on("POST", pattern, handler: handler)
    }

    public mutating func put(_ pattern: String, handler: @escaping HTTPHandler) { on("PUT", pattern, handler: handler) }

    public mutating func patch(_ pattern: String, handler: @escaping HTTPHandler) {
        on("PATCH", pattern, handler: handler)
    }

    public mutating func delete(_ pattern: String, handler: @escaping HTTPHandler) {
        on("DELETE", pattern, handler: handler)
    }

    /// A route for another method, such as `HEAD` or `PROPFIND`.
    public mutating func on(_ method: String, _ pattern: String, handler: @escaping HTTPHandler) {
        entries.append(Entry(method: method, pattern: pattern, handler: handler))
    }

    /// Routes below a path, with their own middleware.
    ///
    /// - Parameters:
    ///   - pattern: A path, which may have parameters: `users/{userID}`. Empty for a group that only shares
    ///     middleware.
    ///   - list: Lists the group's routes.
    public mutating func group(_ pattern: String = "", _ list: (inout Routes) -> Void) {
        var group = Routes()
        list(&group)
        for var entry in group.entries {
            entry.pattern = [pattern, entry.pattern].filter { !$0.isEmpty }.joined(separator: "/")
            entry.handler = Self.wrap(entry.handler, in: group.middleware)
            entries.append(entry)
        }
    }

    /// Adds middleware to these routes and the groups in them, whether they are listed before or after it. The first
    /// one added runs outermost. Middleware that isn't in a group also runs for what has no route.
    public mutating func use(_ middleware: @escaping HTTPMiddleware) { self.middleware.append(middleware) }

    static func wrap(_ handler: @escaping HTTPHandler, in middleware: [HTTPMiddleware]) -> HTTPHandler {
        middleware.reversed().reduce(handler) { next, middleware in { request in try await middleware(request, next) } }
    }
}
