import HTTPTypes
package import Hummingbird
import IdentityProvider
import NIOCore
import StrictJSON
import TokenVerification

/// A port's responder with the paths of Google's App Check service before it: apps get their tokens here.
package struct AppCheckPort<Next: HTTPResponder>: HTTPResponder {
    package typealias Context = Next.Context

    private let exchange: AppCheckExchange
    private let next: Next

    package init(_ exchange: AppCheckExchange, before next: Next) {
        self.exchange = exchange
        self.next = next
    }

    package func respond(to request: Request, context: Context) async throws -> Response {
        guard let route = AppCheckRoute(request.uri.path) else {
            return try await next.respond(to: request, context: context)
        }
        var response = SignInCORS.isPreflight(request) ? Response(status: .noContent) : await answer(request, route)
        SignInCORS.allow(request, &response)
        return response
    }

    private func answer(_ request: Request, _ route: AppCheckRoute) async -> Response {
        do throws(AppCheckError) {
            if route == .keys {
                guard request.method == .get else { throw .notFound }
                return Self.json(exchange.keys, caching: "public, max-age=\(SigningKeys.maxAge)")
            }
            guard request.method == .post else { throw .notFound }
            return Self.json(
                try await exchange.perform(route, try await Self.body(request), token: request.bearerToken))
        } catch {
            return Self.json(error.body, status: error.status)
        }
    }

    private static func body(_ request: Request) async throws(AppCheckError) -> JSONValue {
        do {
            let buffer = try await request.body.collect(upTo: 64 * 1024)
            return try JSONValue(parsing: Array(buffer.readableBytesView))
        } catch {
            throw .invalidArgument("The body is not JSON of at most 64 KiB.")
        }
    }

    private static func json(
        _ body: JSONObject, status: HTTPResponse.Status = .ok, caching: String = "no-store"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json; charset=UTF-8", .cacheControl: caching],
            body: .init(byteBuffer: ByteBuffer(bytes: (try? JSONValue.object(body).serialized()) ?? [])))
    }
}

/// What a path of the App Check service asks for.
enum AppCheckRoute: Hashable, Sendable {
    case debugToken(project: String, app: String)
    case customToken(project: String, app: String)
    case verification(project: String)
    case keys

    /// - Returns: nil if the path is another service's.
    init?(_ path: String) {
        var segments = path.split(separator: "/").map(String.init)
        // As clients of other services put the host first.
        if segments.first == "firebaseappcheck.googleapis.com" { segments.removeFirst() }
        guard let version = segments.first, version == "v1" || version == "v1beta" else { return nil }
        if segments.count == 2, segments[1] == "jwks" {
            self = .keys
            return
        }
        guard segments.count >= 3, segments[1] == "projects" else { return nil }
        if segments.count == 3, let (project, verb) = Self.verb(segments[2]), verb == "verifyAppCheckToken" {
            self = .verification(project: project)
            return
        }
        // The ids of apps have colons of their own.
        guard segments.count == 5, segments[3] == "apps", let (app, verb) = Self.verb(segments[4]) else { return nil }
        switch verb {
        case "exchangeDebugToken": self = .debugToken(project: segments[2], app: app)
        case "exchangeCustomToken": self = .customToken(project: segments[2], app: app)
        default: return nil
        }
    }

    private static func verb(_ segment: String) -> (name: String, verb: String)? {
        guard let colon = segment.lastIndex(of: ":") else { return nil }
        return (String(segment[..<colon]), String(segment[segment.index(after: colon)...]))
    }
}

/// An error in the format of Google's APIs.
struct AppCheckError: Error, Hashable, Sendable {
    var status: HTTPResponse.Status
    var name: String
    var message: String

    static let notFound = Self(status: .notFound, name: "NOT_FOUND", message: "Not Found")
    static let attestationFailed = Self(
        status: .forbidden, name: "PERMISSION_DENIED", message: "App attestation failed.")
    static let unauthenticated = Self(
        status: .unauthorized, name: "UNAUTHENTICATED", message: "The request needs the access token of a server.")
    static let unavailable = Self(
        status: .serviceUnavailable, name: "UNAVAILABLE", message: "The service is currently unavailable.")
    static let `internal` = Self(
        status: .internalServerError, name: "INTERNAL", message: "Internal error encountered.")

    static func invalidArgument(_ message: String) -> Self {
        Self(status: .badRequest, name: "INVALID_ARGUMENT", message: message)
    }

    var body: JSONObject {
        [
            "error": [
                "code": .integer(Int64(status.code)), "message": .string(message), "status": .string(name),
            ]
        ]
    }
}

extension Request {
    fileprivate var bearerToken: Substring? {
        guard let header = headers[.authorization], header.lowercased().hasPrefix("bearer ") else { return nil }
        return header.dropFirst(7)
    }
}
