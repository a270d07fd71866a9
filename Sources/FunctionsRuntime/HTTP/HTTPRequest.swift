import NIOCore
import TextFormats
import WorkerProtocol

/// A request to an HTTP function.
public struct HTTPRequest: FunctionInput {
    public let context: FunctionContext
    var routed: RouteParameters?
    var values: [ObjectIdentifier: any Sendable] = [:]

    package init(context: InvocationContext) { self.context = FunctionContext(context) }

    private var head: InvocationHead { context.invocation.head }

    // MARK: What is requested

    /// For example `GET` or `POST`.
    public var method: String { head.method }

    /// The path and the query after the function's name, as they were sent: `/items/a%2Fb?limit=10`. At least `/`.
    public var url: String { head.target.utf8.first == UInt8(ascii: "/") ? head.target : "/" + head.target }

    /// The path after the function's name as it was sent: `/items/a%2Fb`. At least `/`.
    public var rawPath: String { String(Substring(url.utf8.prefix { $0 != UInt8(ascii: "?") })) }

    /// The percent-decoded path after the function's name; at least `/`.
    ///
    /// `/items/a%2Fb` reads `/items/a/b` here. To tell them apart, use ``rawPath``, or a route's ``parameter(_:)``. A
    /// path that isn't valid percent-encoding reads as it was sent.
    public var path: String {
        let raw = rawPath
        return PercentEncoding.decoded(raw) ?? raw
    }

    /// The decoded query parameters, in order.
    public var query: QueryItems {
        QueryItems(urlEncoded: head.target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst())
    }

    public var headers: Headers { Headers(head.headers) }

    /// The cookies of the request, decoded.
    public var cookies: Cookies { Cookies(headers: headers.values(for: "Cookie")) }

    /// The client's address, such as `203.0.113.9` or `2001:db8::1`; nil on a Unix socket. Behind the operator's trusted
    /// proxies, it is the address that they report.
    public var ip: String? { head.address?.description }

    // MARK: Who asks

    /// The signed-in user, if the request has a valid ID token as `Authorization: Bearer`, or a valid session cookie
    /// named `__session`. A request with an invalid token isn't refused, because an HTTP function may use the header
    /// for something else.
    ///
    /// Browsers send a cookie also with requests that other sites cause: set it with ``Cookie/SameSite/lax``, and let no
    /// GET change anything, or compare the header `Origin` before a change.
    public var auth: AuthData? { head.auth.map(AuthData.init) }

    /// The signed-in user.
    ///
    /// - Throws: ``HttpsError`` with `unauthenticated`, which the caller sees as 401, if there is no signed-in user.
    public func requireAuth() throws -> AuthData {
        guard let auth else { throw HttpsError(.unauthenticated, "Sign in to send this request.") }
        return auth
    }

    /// The calling app; nil if the request has no valid App Check token.
    public var app: AppCheckData? {
        head.app.map { AppCheckData($0, alreadyConsumed: head.appTokenConsumed) }
    }

    // MARK: The body

    /// The unchanged body, at most 10 MiB. One with a `Content-Encoding`, such as `gzip`, isn't decompressed.
    public var body: [UInt8] { Array(context.invocation.body.readableBytesView) }

    /// The body as text.
    /// - Throws: ``HttpsError`` `invalidArgument`, which the caller sees as 400, if it isn't UTF-8 or is compressed.
    public var text: String {
        get throws {
            try requirePlainBody()
            guard let text = String(validating: context.invocation.body.readableBytesView, as: UTF8.self) else {
                throw HttpsError(.invalidArgument, "body: expected text in UTF-8")
            }
            return text
        }
    }

    /// Decodes the body from JSON, whatever its `Content-Type`.
    /// - Throws: ``HttpsError`` `invalidArgument`, which the caller sees as 400, with the path that doesn't decode, or if
    ///   the body is compressed.
    public func json<Body: Decodable>(as type: Body.Type = Body.self) throws -> Body {
        try requirePlainBody()
        do {
            return try context.invocation.body.withUnsafeReadableBytes {
                try CallableDecoder(root: "body").decode(type, from: $0)
            }
        } catch let error as DecodingError {
            throw HttpsError(.invalidArgument, error.explanation)
        }
    }

    /// The fields of an HTML form, sent as `application/x-www-form-urlencoded`: at most 1000. They are read from the body
    /// each time; keep the result.
    /// - Throws: ``HttpsError`` `invalidArgument`, which the caller sees as 400, if the body has another type or more
    ///   fields.
    public var form: QueryItems {
        get throws {
            try require(mediaType: "application/x-www-form-urlencoded")
            let form = QueryItems(urlEncoded: context.invocation.body.readableBytesView, limit: Self.maxFields + 1)
            guard form.items.count <= Self.maxFields else {
                throw HttpsError(.invalidArgument, "body: more than \(Self.maxFields) fields, the limit")
            }
            return form
        }
    }

    private static let maxFields = 1000

    /// The parts of a body sent as `multipart/form-data`: fields and files, read one after the other.
    ///
    ///     for try await part in try request.multipart() {
    ///         if let file = part.filename { try await store(part.body, as: file) }
    ///     }
    ///
    /// - Parameters:
    ///   - maxParts: 1 or more. A body with more parts fails when the next one is read.
    ///   - maxPartBytes: The limit of one part's content. The whole body has at most 10 MiB.
    /// - Throws: ``HttpsError`` `invalidArgument`, which the caller sees as 400, if the body has another type.
    public func multipart(maxParts: Int = 1000, maxPartBytes: Int = .max) throws -> MultipartForm {
        let type = try require(mediaType: "multipart/form-data")
        guard let boundary = type.parameters["boundary"], (1...70).contains(boundary.utf8.count) else {
            throw HttpsError(
                .invalidArgument, "Content-Type: multipart/form-data needs a boundary of 1 to 70 characters")
        }
        return MultipartForm(
            context.invocation.body, boundary: boundary, maxParts: maxParts, maxPartBytes: maxPartBytes)
    }

    /// Otherwise the caller would learn only that compressed bytes aren't JSON or text.
    private func requirePlainBody() throws {
        guard let coding = headers["Content-Encoding"], HTTPText.isCompression(coding) else { return }
        throw HttpsError(.invalidArgument, "Content-Encoding: expected none, found \(coding)")
    }

    @discardableResult
    private func require(mediaType expected: String) throws -> MediaType {
        try requirePlainBody()
        let sent = headers["Content-Type"] ?? ""
        guard let type = MediaType(sent), type.name == expected else {
            throw HttpsError(
                .invalidArgument, "Content-Type: expected \(expected), found \(sent.isEmpty ? "none" : sent)")
        }
        return type
    }

    // MARK: What the router and middleware add

    /// The decoded text of a parameter of the route's pattern: for `items/{id}` and the path `/items/a%20b`,
    /// `try request.parameter("id")` is `a b`.
    ///
    /// - Throws: If the pattern has no such parameter, the caller gets INTERNAL and the log names the pattern's
    ///   parameters.
    public func parameter(_ name: String) throws -> String { try routedText(name) }

    /// A parameter of the route's pattern as a number, a boolean or another ``TextValue``:
    /// `try request.parameter("id", as: Int.self)`.
    ///
    /// - Throws: ``HttpsError`` `invalidArgument`, which the caller sees as 400, if the text isn't a value of the type; and
    ///   as ``parameter(_:)``.
    public func parameter<Value: TextValue>(_ name: String, as type: Value.Type) throws -> Value {
        try read(try routedText(name), of: name, Value.init(text:))
    }

    /// A parameter of the route's pattern as an enum of strings.
    ///
    /// - Throws: As for other types.
    public func parameter<Value: RawRepresentable<String>>(_ name: String, as type: Value.Type) throws -> Value {
        try read(try routedText(name), of: name, Value.init(rawValue:))
    }

    private func routedText(_ name: String) throws -> String {
        guard let text = routed?[name] else { throw UnknownParameter(name: name, known: routed?.names ?? []) }
        return text
    }

    /// What middleware has added for the handler; nil if it has added nothing under this key.
    ///
    ///     enum Tenant: HTTPRequestKey { typealias Value = String }
    ///     routes.use { request, next in
    ///         var request = request
    ///         request[Tenant.self] = request.headers["X-Tenant"]
    ///         return try await next(request)
    ///     }
    public subscript<Key: HTTPRequestKey>(key: Key.Type) -> Key.Value? {
        get { values[ObjectIdentifier(key)] as? Key.Value }
        set { values[ObjectIdentifier(key)] = newValue }
    }
}

/// Identifies a value that middleware adds to a request.
public protocol HTTPRequestKey {
    associatedtype Value: Sendable
}

/// A handler asked for a parameter that its route's pattern doesn't have.
private struct UnknownParameter: Error, CustomStringConvertible {
    let name: String
    let known: [String]

    var description: String {
        known.isEmpty
            ? "there is no parameter \"\(name)\": the route's pattern has no parameters"
            : "there is no parameter \"\(name)\": the route's pattern has \(known.joined(separator: ", "))"
    }
}
