import NIOCore

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

    /// - Parameter body: At most 32 MiB; stream larger bodies.
    public init(status: Int = 200, headers: Headers = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = .bytes(body)
    }

    /// A string, as `text/plain` in UTF-8.
    public static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: Array(text.utf8))
    }

    /// A value encoded as JSON, as in callables.
    /// - Throws: `EncodingError` if it can't be encoded.
    public static func json(_ value: some Encodable, status: Int = 200) throws -> HTTPResponse {
        HTTPResponse(
            status: status, headers: ["Content-Type": "application/json; charset=utf-8"],
            body: try CallableEncoder().encode(value))
    }

    /// A streamed body. Status and headers are sent first.
    ///
    /// - Parameter body: If it throws, the response is cut off, because the status has already been sent.
    public static func stream(
        status: Int = 200, headers: Headers = [:],
        _ body: @escaping @Sendable (HTTPBodyWriter) async throws -> Void
    ) -> HTTPResponse {
        var response = HTTPResponse(status: status, headers: headers)
        response.body = .stream(body)
        return response
    }
}

/// Writes a streamed body.
public struct HTTPBodyWriter: Sendable {
    /// Small enough that frames of other invocations can be sent in between.
    private static let partSize = 262_144

    private let context: InvocationContext

    package init(context: InvocationContext) { self.context = context }

    /// Sends bytes; suspends while the client reads slowly.
    /// - Throws: `CancellationError` if the client has disconnected or the deadline has passed.
    public func write(_ bytes: [UInt8]) async throws {
        try Task.checkCancellation()
        var rest = bytes[...]
        while !rest.isEmpty {
            try await context.sendChunk(ByteBuffer(bytes: rest.prefix(Self.partSize)))
            rest = rest.dropFirst(Self.partSize)
        }
    }

    public func write(_ text: String) async throws { try await write(Array(text.utf8)) }
}
