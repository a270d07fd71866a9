package import NIOCore

/// The response of an HTTP function.
public struct HTTPResponse: Sendable {
    /// 200...599
    public var status: Int
    public var headers: Headers
    package var body: Body

    package enum Body: Sendable {
        case bytes([UInt8])
        case stream(@Sendable (HTTPBodyWriter) async throws -> Void)
    }

    /// - Parameters:
    ///   - body: At most 32 MiB; stream larger bodies.
    ///   - status: 200 to 599.
    ///   - headers: Further headers. A `Content-Type` among them replaces the default.
    public init(status: Int = 200, headers: Headers = [:], body: [UInt8] = []) {
        self.init(status, headers, .bytes(body))
    }

    /// - Parameter contentType: Unless `headers` has one.
    private init(_ status: Int, _ headers: Headers, contentType: String? = nil, _ body: Body) {
        self.status = status
        self.headers = headers
        self.body = body
        if let contentType, headers["Content-Type"] == nil { self.headers["Content-Type"] = contentType }
    }

    /// A string, as `text/plain` in UTF-8.
    public static func text(_ text: String, status: Int = 200, headers: Headers = [:]) -> HTTPResponse {
        HTTPResponse(status, headers, contentType: "text/plain; charset=utf-8", .bytes(Array(text.utf8)))
    }

    /// A page, as `text/html` in UTF-8. Text of others in it must be escaped, or it can contain scripts.
    public static func html(_ page: String, status: Int = 200, headers: Headers = [:]) -> HTTPResponse {
        HTTPResponse(status, headers, contentType: "text/html; charset=utf-8", .bytes(Array(page.utf8)))
    }

    /// A value encoded as JSON, as in callables; but integers are numbers whatever their size.
    /// - Throws: `EncodingError` if it can't be encoded.
    public static func json(
        _ value: some Encodable, status: Int = 200, headers: Headers = [:]
    ) throws -> HTTPResponse {
        HTTPResponse(
            status, headers, contentType: "application/json; charset=utf-8",
            .bytes(try CallableEncoder(wrapsIntegers: false).encode(value)))
    }

    /// Values of different types as a JSON object, in this order.
    ///
    ///     return try .json(["id": reference.documentID, "total": 1200, "tags": ["a", 1], "note": nil])
    ///
    /// - Parameters:
    ///   - members: Values that can be encoded, nil, and arrays and dictionaries of these.
    ///   - status: 200 to 599.
    ///   - headers: Further headers. A `Content-Type` among them replaces the default.
    /// - Throws: `EncodingError` if a value can't be encoded.
    @_disfavoredOverload
    public static func json(
        _ members: KeyValuePairs<String, Any?>, status: Int = 200, headers: Headers = [:]
    ) throws -> HTTPResponse {
        try json(MixedJSON.object(members), status: status, headers: headers)
    }

    /// Sends the client to another URL.
    ///
    /// - Parameters:
    ///   - url: Absolute, or relative to the request's: a path has the function's project and region in front of it,
    ///     unless Hosting or a proxy hides them. Text of others in it may send users to another site.
    ///   - status: 302 by default; 301 and 308 are for good, and 307 and 308 keep the method.
    ///   - headers: Further headers. A `Content-Type` among them replaces the default.
    public static func redirect(to url: String, status: Int = 302, headers: Headers = [:]) -> HTTPResponse {
        var response = HTTPResponse(status, headers, .bytes([]))
        response.headers["Location"] = url
        return response
    }

    /// A streamed body. Status and headers are sent with its first bytes.
    ///
    /// - Parameters:
    ///   - body: If it throws before its first write, the caller gets the error; afterwards the response is cut
    ///     off, because the status has been sent. It doesn't run for HEAD.
    ///   - status: 200 to 599.
    ///   - headers: Further headers. A `Content-Type` among them replaces the default.
    public static func stream(
        status: Int = 200, headers: Headers = [:],
        _ body: @escaping @Sendable (HTTPBodyWriter) async throws -> Void
    ) -> HTTPResponse {
        HTTPResponse(status, headers, .stream(body))
    }

    /// The content of a file.
    ///
    ///     routes.get("assets/{path=**}") { request in
    ///         try .file(try request.parameter("path"), in: "/srv/assets")
    ///     }
    ///
    /// - Parameters:
    ///   - path: Of a regular file: below `directory` if there is one, or else absolute or relative to the worker's
    ///     working directory.
    ///   - directory: Give one if the path comes from a request: a file outside of it isn't found, and neither is one
    ///     whose path has a part that begins with a dot.
    ///   - contentType: By default from the name: `text/html; charset=utf-8` for `.html`.
    ///   - name: The name under which browsers store the file, instead of showing it.
    ///   - headers: Further headers. A `Content-Type` among them replaces the default.
    ///   - status: 200 to 599.
    /// - Throws: ``HttpsError`` `notFound`, which the caller sees as 404, if there is no such file.
    public static func file(
        _ path: String, in directory: String? = nil, contentType: String? = nil, downloadAs name: String? = nil,
        status: Int = 200, headers: Headers = [:]
    ) throws -> HTTPResponse {
        guard let file = ResponseFile(path, in: directory) else {
            throw HttpsError(.notFound, "There is no such file.")
        }
        var response = HTTPResponse(
            status, headers, contentType: contentType ?? FileContentType.of(path), try file.body())
        if let name { response.headers["Content-Disposition"] = FileContentType.attachment(name) }
        return response
    }
}

/// Writes a streamed body.
public struct HTTPBodyWriter: Sendable {
    /// Small enough that frames of other invocations can be sent in between.
    static let partSize = 262_144

    private let send: @Sendable (ByteBuffer) async throws -> Void

    package init(_ send: @escaping @Sendable (ByteBuffer) async throws -> Void) { self.send = send }

    /// Sends bytes; suspends while the client reads slowly.
    ///
    /// The first bytes after a pause are sent at once. Those written while earlier ones are on their way to the client are
    /// gathered, so that small writes are cheap.
    ///
    /// - Throws: `CancellationError` if the client has disconnected or the deadline has passed.
    public func write(_ bytes: some Sequence<UInt8>) async throws { try await write(ByteBuffer(bytes: bytes)) }

    /// Sends text in UTF-8; see ``write(_:)-(Sequence<UInt8>)``.
    public func write(_ text: String) async throws { try await write(ByteBuffer(string: text)) }

    private func write(_ bytes: ByteBuffer) async throws {
        try Task.checkCancellation()
        var rest = bytes
        while let part = rest.readSlice(length: min(rest.readableBytes, Self.partSize)), part.readableBytes > 0 {
            try await send(part)
        }
    }
}
