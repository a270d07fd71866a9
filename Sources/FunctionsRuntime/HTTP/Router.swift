import StrictJSON
import TextFormats

/// Finds the handler of a request among a function's routes.
struct Router: Sendable {
    private struct Route: Sendable {
        let pattern: PathPattern
        /// With all middleware around it.
        let handler: HTTPHandler
    }

    /// A position in the patterns.
    private struct Node: Sendable {
        /// By method.
        var routes: [String: Route] = [:]
        var literals: [String: Int] = [:]
        var parameter: Int?
        /// Routes that end here in `{path=**}`, by method.
        var rest: [String: Route] = [:]
    }

    private var nodes = [Node()]
    private let middleware: [HTTPMiddleware]
    /// Why routes can't be served; empty if they can.
    private(set) var problems: [String] = []

    init(_ routes: Routes) {
        middleware = routes.middleware
        if routes.entries.isEmpty { problems.append("it has no routes") }
        for entry in routes.entries {
            let name = "the route \(entry.method) \"\(entry.pattern)\""
            do {
                let pattern = try PathPattern(entry.pattern)
                guard entry.method.utf8.allSatisfy({ (65...90).contains($0) || $0 == 45 }), !entry.method.isEmpty else {
                    problems.append("\(name): a method has capital letters, such as GET")
                    continue
                }
                let handler = Routes.wrap(entry.handler, in: routes.middleware)
                if let other = add(Route(pattern: pattern, handler: handler), entry.method) {
                    problems.append("\(name) matches the same requests as \"\(other.text)\"; remove one")
                }
            } catch {
                problems.append("\(name): \(error.reason)")
            }
        }
    }

    /// - Returns: the pattern of a route that is there already for the same requests.
    private mutating func add(_ route: Route, _ method: String) -> PathPattern? {
        var node = 0
        for segment in route.pattern.segments {
            switch segment {
            case .literal(let text):
                let next = nodes[node].literals[text] ?? nodes.count
                nodes[node].literals[text] = next
                node = next
            case .parameter:
                let next = nodes[node].parameter ?? nodes.count
                nodes[node].parameter = next
                node = next
            case .rest:
                defer { nodes[node].rest[method] = route }
                return nodes[node].rest[method]?.pattern
            }
            if node == nodes.count { nodes.append(Node()) }
        }
        defer { nodes[node].routes[method] = route }
        return nodes[node].routes[method]?.pattern
    }

    // MARK: Requests

    func respond(to request: HTTPRequest) async throws -> HTTPResponse {
        let segments = try Self.segments(of: request.rawPath)
        var search = Search(segments: segments)
        for method in request.method == "HEAD" ? ["HEAD", "GET"] : [request.method] {
            guard let route = find(method, in: 0, at: 0, &search) else { continue }
            var request = request
            request.routed = RouteParameters(names: route.pattern.names, values: search.captured)
            return try await route.handler(request)
        }
        let allowed = search.allowed
        return try await Routes.wrap({ try Self.refusal($0, allowed: allowed) }, in: middleware)(request)
    }

    private struct Search {
        let segments: [String]
        /// What the parameters on the way match, in order.
        var captured: [String] = []
        /// The methods of routes for the path.
        var allowed: Set<String> = []
    }

    private func find(_ method: String, in node: Int, at index: Int, _ search: inout Search) -> Route? {
        let node = nodes[node]
        if index == search.segments.count {
            if let route = node.routes[method] { return route }
            search.allowed.formUnion(node.routes.keys)
        } else {
            let segment = search.segments[index]
            if let next = node.literals[segment], let route = find(method, in: next, at: index + 1, &search) {
                return route
            }
            if let next = node.parameter, !segment.isEmpty {
                search.captured.append(segment)
                if let route = find(method, in: next, at: index + 1, &search) { return route }
                search.captured.removeLast()
            }
        }
        guard let route = node.rest[method] else {
            search.allowed.formUnion(node.rest.keys)
            return nil
        }
        search.captured.append(search.segments[index...].joined(separator: "/"))
        return route
    }

    /// - Throws: ``HttpsError`` `invalidArgument` if a segment isn't percent-encoded UTF-8.
    private static func segments(of path: String) throws -> [String] {
        var parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        if parts.last?.isEmpty == true { parts.removeLast() }
        return try parts.map { part in
            guard let segment = PercentEncoding.decoded(bytes: part) else {
                throw HttpsError(.invalidArgument, "path: \"\(Substring(part))\" isn't percent-encoded UTF-8")
            }
            return segment
        }
    }

    private static func refusal(_ request: HTTPRequest, allowed: Set<String>) throws -> HTTPResponse {
        guard !allowed.isEmpty else { throw HttpsError(.notFound, "There is no route for \(request.rawPath).") }
        let allowed = allowed.union(allowed.contains("GET") ? ["HEAD", "OPTIONS"] : ["OPTIONS"]).sorted()
            .joined(separator: ", ")
        if request.method == "OPTIONS" { return HTTPResponse(status: 204, headers: ["Allow": allowed]) }
        let error: JSONValue = [
            "message": "\(request.method) isn't allowed for \(request.rawPath), only \(allowed).",
            "status": "METHOD_NOT_ALLOWED",
        ]
        return try .json(["error": error], status: 405, headers: ["Allow": allowed])
    }
}

/// What the parameters of a route's pattern match.
struct RouteParameters: Sendable {
    let names: [String]
    let values: [String]

    subscript(_ name: String) -> String? { names.firstIndex(of: name).map { values[$0] } }
}
