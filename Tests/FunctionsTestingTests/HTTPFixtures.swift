import FunctionsRuntime
import FunctionsTesting

/// HTTP functions that show what they receive, and answer in each way.
struct HTTPFixtures: FunctionBundle {
    /// For the function "files".
    @TaskLocal static var directory = "/nowhere"

    struct Seen: Codable, Equatable {
        var url = "/"
        var path = "/"
        var rawPath = "/"
        var ip: String?
        var tags: [String] = []
        var limit: Int?
        var cookies: [String: String] = [:]
    }

    enum Size: String { case small, large }

    enum Tenant: HTTPRequestKey { typealias Value = String }

    var functions: [Function] {
        onRequest("seen") { request in
            try .json(
                Seen(
                    url: request.url, path: request.path, rawPath: request.rawPath, ip: request.ip,
                    tags: request.query.values(for: "tag"), limit: try request.query.value("limit", as: Int.self),
                    cookies: Dictionary(uniqueKeysWithValues: request.cookies.map { ($0.name, $0.value) })))
        }
        onRequest("size") { request in .text("\(try request.query.value("size", as: Size.self) ?? .small)") }
        onRequest("number") { request in .text("\(try request.query.value("x", as: Double.self) ?? 0)") }
        onRequest("text") { request in .text(try request.text.uppercased()) }
        onRequest("form") { request in
            let form = try request.form
            return .text("\(form["name"] ?? "-") \(form.values(for: "tag").joined(separator: "+"))")
        }
        onRequest("upload") { request in
            var lines: [String] = []
            for try await part in try request.multipart(maxParts: 3, maxPartBytes: 100) {
                lines.append(
                    "\(part.name)|\(part.filename ?? "")|\(part.contentType ?? "")|\(try part.text)|\(part.body.count)")
            }
            return .text(lines.joined(separator: "\n"))
        }
        onRequest("private") { request in .text(try request.requireAuth().uid) }
        onRequest("app") { request in
            guard let app = request.app else { throw HttpsError(.unauthenticated, "From our app only.") }
            return .text("\(app.appID) \(app.token["level"]?.intValue ?? 0) \(app.alreadyConsumed)")
        }
        onRequest("answers") { request in
            switch request.path {
            case "/html": return .html("<p>Hi</p>", status: 201, headers: ["X-A": "1"])
            case "/text": return .text("{}", headers: ["content-type": "application/graphql"])
            case "/redirect": return .redirect(to: "https://example.com/", status: 308)
            case "/cookies":
                var response = HTTPResponse.text("ok")
                response.setCookie(
                    Cookie(
                        "session", "a b;c%", path: "/x", domain: "shop.example", maxAge: .seconds(60),
                        expires: Timestamp(seconds: 1_795_248_051, nanoseconds: 0), secure: true, httpOnly: true,
                        sameSite: .lax))
                response.deleteCookie("old")
                return response
            case "/headers": return HTTPResponse(headers: ["X-Large": String(repeating: "x", count: 1 << 18)])
            case "/fails":
                return .stream { _ in throw HttpsError(.notFound, "Nothing to send.") }
            case "/stream":
                return .stream(headers: ["X-A": "1"]) { writer in
                    for number in 0..<1000 { try await writer.write("\(number),") }
                    try await writer.write([UInt8](repeating: 46, count: 700_000))
                }
            default: return HTTPResponse(status: 204)
            }
        }
        onRequest("files") { request in
            try .file(request.path, in: Self.directory, downloadAs: request.query["as"])
        }
        api
    }

    private var api: Function {
        onRequest(routing: "api") { routes in
            routes.use { request, next in
                var response = try await next(request)
                response.headers.add("X-Trace", "root")
                return response
            }
            routes.get("/") { _ in .text("home") }
            routes.get("items") { _ in .text("items") }
            routes.get("items/{id}") { request in
                let id = try request.parameter("id", as: Int.self)
                return .text("item \(id)")
            }
            routes.post("items/new") { _ in .text("new", status: 201) }
            routes.put("items/{id}") { request in .text(try request.parameter("id")) }
            routes.get("sizes/{size}") { request in .text("\(try request.parameter("size", as: Size.self))") }
            routes.get("typo/{id}") { request in .text(try request.parameter("idd")) }
            routes.get("files/{path=**}") { request in .text(try request.parameter("path")) }
            routes.get("a/{x}/c") { request in .text("x=\(try request.parameter("x"))") }
            routes.get("a/b/d") { _ in .text("literal") }
            routes.group("tenants/{tenant}") { tenants in
                tenants.get("name") { request in .text(request[Tenant.self] ?? "") }
                tenants.use { request, next in
                    var request = request
                    request[Tenant.self] = try request.parameter("tenant").uppercased()
                    return try await next(request)
                }
                tenants.group("admin") { admin in
                    admin.use { request, next in
                        guard request.auth != nil else { throw HttpsError(.permissionDenied, "Admins only.") }
                        var response = try await next(request)
                        response.headers.add("X-Trace", "admin")
                        return response
                    }
                    admin.delete("") { request in .text("deleted \(request[Tenant.self] ?? "")") }
                }
            }
        }
    }
}

/// A bundle whose only function has these routes.
struct OddRoutes: FunctionBundle {
    private let list: @Sendable (inout Routes) -> Void

    init() { self.init { _ in } }

    init(_ list: @escaping @Sendable (inout Routes) -> Void) { self.list = list }

    var functions: [Function] { onRequest(routing: "api", list: list) }
}
