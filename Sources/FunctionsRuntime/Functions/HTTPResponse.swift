import NIOCore

/// What an HTTP function answers.
public struct HTTPResponse: Sendable {
    /// 200...599
    public var status: Int
    public var headers: Headers
    package var body: Body

    package enum Body: Sendable {
        case bytes([UInt8])
        case stream(@Sendable (HTTPBodyWriter) async throws -> Void)
    }

    /// - Parameter body: at most 32 MiB; stream what is larger.
    public init(status: Int = 200, headers: Headers = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = .bytes(body)
    }

    /// A text, as `text/plain` in UTF-8.
    public static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: Array(text.utf8))
    }

    /// A value as JSON, written as callables write it.
    /// - Throws: `EncodingError` where it can't be written.
    public static func json(_ value: some Encodable, status: Int = 200) throws -> HTTPResponse {
        HTTPResponse(
            status: status, headers: ["Content-Type": "application/json; charset=utf-8"],
            body: try CallableEncoder().encode(value))
    }

    /// A body sent as it is made. Status and headers go out first.
    ///
    /// - Parameter body: what it throws breaks the answer off, since the status is already with the client.
    public static func stream(
        status: Int = 200, headers: Headers = [:],
        _ body: @escaping @Sendable (HTTPBodyWriter) async throws -> Void
    ) -> HTTPResponse {
        var response = HTTPResponse(status: status, headers: headers)
        response.body = .stream(body)
        return response
    }
}

/// Where a streamed body is written to.
public struct HTTPBodyWriter: Sendable {
    /// Small enough that other invocations' frames get their turn in between.
    private static let partSize = 262_144

    private let context: InvocationContext

    package init(context: InvocationContext) { self.context = context }

    /// Sends bytes; waits while the client is slow to read.
    /// - Throws: `CancellationError` where the client is gone or the time is over.
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
