import Synchronization
public import FunctionsRuntime

/// The response to ``fetch(_:query:method:headers:body:followsRedirects:timeout:)``. Its body can be read once.
public struct FetchResponse: Sendable {
    public let status: Int
    /// Without `Content-Encoding` and `Content-Length` if the body was compressed: it is read decompressed.
    public let headers: Headers
    private let url: String
    private let content: UnreadBody
    private let deadline: ContinuousClock.Instant

    init(status: Int, headers: Headers, body: AnyParts, to request: FetchRequest) {
        self.status = status
        self.headers = headers
        url = request.url
        content = UnreadBody(body)
        deadline = request.deadline
    }

    /// Whether the status is 200 to 299.
    public var isSuccess: Bool { (200...299).contains(status) }

    /// This response, if its status is 200 to 299.
    ///
    /// - Throws: ``FetchError`` with the status and the beginning of the body.
    @discardableResult
    public func requireSuccess() async throws -> FetchResponse {
        guard !isSuccess else { return self }
        let body = body
        let beginning = try? await within(deadline) {
            var beginning: [UInt8] = []
            for try await part in body {
                beginning += part
                if beginning.count >= 1000 { break }
            }
            return beginning
        }
        try Task.checkCancellation()
        // The status counts, also if the body doesn't arrive.
        let text = String(decoding: (beginning ?? []).prefix(1000), as: UTF8.self)
        throw FetchError(.status, "\(status)\(text.isEmpty ? "" : ": \(text)")", status: status, url: url)
    }

    // MARK: The whole body

    /// The whole body.
    ///
    /// - Parameter limit: In bytes. Default 10 MiB.
    /// - Throws: ``FetchError`` if it is larger, ends early, or isn't complete within the request's timeout.
    public func bytes(upTo limit: Int = 10_485_760) async throws -> [UInt8] {
        let body = body
        return try await within(deadline) {
            var bytes: [UInt8] = []
            for try await part in body {
                guard part.count <= limit - bytes.count else {
                    throw FetchError(.tooLarge, "the body has more than \(limit) bytes", status: status, url: url)
                }
                bytes += part
            }
            return bytes
        }
    }

    /// The whole body as text in UTF-8.
    ///
    /// - Throws: As ``bytes(upTo:)``, and if it isn't UTF-8.
    public func text(upTo limit: Int = 10_485_760) async throws -> String {
        guard let text = String(validating: try await bytes(upTo: limit), as: UTF8.self) else {
            throw FetchError(.malformed, "the body isn't text in UTF-8", status: status, url: url)
        }
        return text
    }

    /// Decodes the whole body from JSON.
    ///
    /// - Throws: As ``bytes(upTo:)``, and if it doesn't decode, with the path: `response.items[3].price: missing`.
    public func json<Body: Decodable>(as type: Body.Type = Body.self, upTo limit: Int = 10_485_760) async throws -> Body
    {
        try decodeJSON(type, from: try await bytes(upTo: limit), of: "response", url)
    }

    /// - Throws: ``FetchError`` `timedOut` if the work isn't done at the deadline.
    private func within<Value: Sendable>(
        _ deadline: ContinuousClock.Instant, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask(operation: work)
            group.addTask {
                try await Task.sleep(until: deadline, clock: .continuous)
                throw FetchError(.timedOut, "the body isn't complete within the time", status: status, url: url)
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }

    // MARK: Parts of the body

    /// The body in parts, as they arrive. The server waits while the handler doesn't read.
    public var body: FetchParts { FetchParts(content: content, url: url) }

    /// The lines of the body, as they arrive, without their ends (`\n`, `\r\n` or `\r`). A line has at most 10 MiB.
    public var lines: FetchLines { FetchLines(parts: body) }

    /// The server-sent events of the body, as they arrive: `for try await event in response.events { … event.data … }`.
    public var events: FetchEvents { FetchEvents(lines: lines) }
}

/// A body that nothing has read yet.
final class UnreadBody: Sendable {
    private let body: Mutex<AnyParts?>

    init(_ body: AnyParts) { self.body = Mutex(body) }

    func take() -> AnyParts? {
        body.withLock { body in
            defer { body = nil }
            return body
        }
    }
}

/// The parts of a response's body. Their sizes mean nothing.
public struct FetchParts: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    let content: UnreadBody
    let url: String

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: AnyParts.AsyncIterator?
        fileprivate let url: String

        /// - Throws: ``FetchError`` if the body ends early or was read before; `CancellationError` if the invocation ends.
        public mutating func next() async throws -> [UInt8]? {
            guard base != nil else {
                throw FetchError(.alreadyRead, "the body was read before; keep what was read", url: url)
            }
            return try await base?.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: content.take()?.makeAsyncIterator(), url: url)
    }
}
