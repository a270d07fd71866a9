import DocumentModel
import DocumentStore
public import FunctionsRuntime
import NIOCore
import Synchronization
import FunctionManifest
import WorkerProtocol

extension FunctionsTester {
    /// Calls a callable function.
    ///
    ///     let answer: Purchase.Answer = try await shop.call("purchase", as: .user("ada"))
    ///
    /// - Parameters:
    ///   - name: The function's.
    ///   - data: What the client sends, encoded as JSON.
    ///   - caller: The signed-in user; none by default.
    ///   - app: The app with an App Check token; none by default.
    ///   - idempotencyKey: The header of this name: at most 256 bytes.
    ///   - headers: Further headers of the client.
    ///   - returning: The result's type.
    /// - Throws: `HttpsError` as a client would see it: errors other than the author's `HttpsError` become
    ///   `internal`, and the log has the original. ``TestError`` if the response doesn't have the expected type.
    public func call<Output: Decodable>(
        _ name: String, _ data: some Encodable = NoData(), as caller: TestCaller? = nil, app: TestApp? = nil,
        idempotencyKey: String? = nil, headers: Headers = [:], returning: Output.Type = Output.self
    ) async throws -> Output {
        let request = CallRequest(caller, app, idempotencyKey, headers, streams: false)
        return try read(try await answer(name, data, request, onChunk: { _ in }), as: "result", of: name)
    }

    /// Calls a callable function as a streaming client.
    ///
    /// - Parameters:
    ///   - onChunk: Called with each chunk, in order.
    ///   - idempotencyKey: As the header `Idempotency-Key`.
    ///   - app: The app whose App Check token the call has; none by default.
    ///   - headers: Further headers of the request.
    ///   - caller: The user whose token the call has; none by default.
    ///   - data: As the caller sends it.
    ///   - name: The function's.
    /// - Throws: As ``call(_:_:as:app:idempotencyKey:headers:returning:)``. Chunks may have been received before.
    public func stream<Chunk: Decodable & SendableMetatype, Output: Decodable>(
        _ name: String, _ data: some Encodable = NoData(), as caller: TestCaller? = nil, app: TestApp? = nil,
        idempotencyKey: String? = nil, headers: Headers = [:], onChunk: @escaping @Sendable (Chunk) -> Void
    ) async throws -> Output {
        let request = CallRequest(caller, app, idempotencyKey, headers, streams: true)
        // The handler doesn't notice that the test can't decode a chunk, as it wouldn't notice with a client.
        let unread = Mutex<TestError?>(nil)
        let result = try await answer(name, data, request) { [self] chunk in
            do throws(TestError) {
                onChunk(try read(Array(chunk.readableBytesView), as: "chunk", of: name))
            } catch {
                unread.withLock { $0 = $0 ?? error }
            }
        }
        if let error = unread.withLock({ $0 }) { throw error }
        return try read(result, as: "result", of: name)
    }

    /// Calls a callable function as a streaming client and collects the chunks.
    ///
    ///     let countdown: TestStream<Int, String> = try await tester.stream("countdown", 3)
    ///     #expect(countdown.chunks == [3, 2, 1])
    ///
    /// - Throws: as ``call(_:_:as:app:idempotencyKey:headers:returning:)``.
    public func stream<Chunk: Decodable & Sendable, Output: Decodable>(
        _ name: String, _ data: some Encodable = NoData(), as caller: TestCaller? = nil, app: TestApp? = nil,
        idempotencyKey: String? = nil, headers: Headers = [:]
    ) async throws -> TestStream<Chunk, Output> {
        let chunks = Mutex<[Chunk]>([])
        let answer: Output = try await stream(
            name, data, as: caller, app: app, idempotencyKey: idempotencyKey, headers: headers
        ) { (chunk: Chunk) in chunks.withLock { $0.append(chunk) } }
        return TestStream(chunks: chunks.withLock { $0 }, answer: answer)
    }

    /// Performs the host's checks in the same order, then runs the handler.
    ///
    /// - Returns: The result as JSON.
    private func answer(
        _ name: String, _ data: some Encodable, _ request: CallRequest,
        onChunk: @escaping @Sendable (ByteBuffer) -> Void
    ) async throws -> [UInt8] {
        guard let function = functions[name], case .callable(let trigger) = function.trigger else {
            throw TestError("there is no callable function \"\(name)\"")
        }
        let body = try CallableEncoder(root: "data").encode(data)
        // Includes the envelope around the data.
        if let problem = problem(ofSize: body.count + 9) { throw problem }
        guard (request.idempotencyKey?.utf8.count ?? 0) <= 256 else {
            throw HttpsError(.invalidArgument, "Bad Request")
        }
        let now = now
        var head = InvocationHead(
            streams: request.streams, headers: request.allHeaders.block, address: .loopback)
        head.auth = try request.caller?.identity(project: project, at: now)
        let key = request.idempotencyKey ?? ""
        let takesAnonymousKeys = function.handler.isTransactional || trigger.hasIdempotencyKey
        guard request.caller?.uid != nil || takesAnonymousKeys || key.isEmpty else {
            throw HttpsError(DocumentError.keyWithoutUser.code, DocumentError.keyWithoutUser.message)
        }
        guard request.app != nil || !trigger.enforceAppCheck else {
            throw HttpsError(.unauthenticated, "Unauthenticated")
        }
        if let app = request.app {
            head.app = try app.identity(project: project, at: now)
            if trigger.consumeAppCheckToken, let token = app.token { head.appTokenConsumed = tokens.consume(token) }
        }
        var operations = OperationContext()
        if !key.isEmpty || trigger.hasIdempotencyKey {
            operations.completion = body.withUnsafeBytes {
                CompletionKey(function: name, uid: request.caller?.uid, key: key, data: $0) { Array($0) }
            }
        }
        if !function.handler.isTransactional, !key.isEmpty { head.idempotencyKey = key }
        let end = await perform(function, head, body: body, operations) { chunk, _ in onChunk(chunk) }
        if let failure = end.failure { throw HttpsError(failure, unwrappingIntegers: true) }
        return end.body
    }

    /// The host's error for a body that exceeds the size limit.
    func problem(ofSize bytes: Int) -> HttpsError? {
        bytes <= Self.maxBody
            ? nil
            : HttpsError(.invalidArgument, "The request body is larger than the limit of \(Self.maxBody) bytes.")
    }

    private static let maxBody = 10 * 1024 * 1024

    private func read<Part: Decodable>(_ json: [UInt8], as root: String, of name: String) throws(TestError) -> Part {
        do {
            return try CallableDecoder(root: root, firestore: firestore).decode(Part.self, from: json)
        } catch {
            let reason = (error as? DecodingError)?.explanation ?? "\(error)"
            throw TestError("the response of \(name) isn't a \(Part.self): \(reason)")
        }
    }
}

/// The chunks and the result that a streaming client received.
public struct TestStream<Chunk: Sendable, Output> {
    /// In order.
    public let chunks: [Chunk]
    public let answer: Output
}

extension TestStream: Sendable where Output: Sendable {}

/// Everything of a call except its data.
private struct CallRequest {
    var caller: TestCaller?
    var app: TestApp?
    var idempotencyKey: String?
    var streams: Bool
    private var headers: Headers

    init(
        _ caller: TestCaller?, _ app: TestApp?, _ idempotencyKey: String?, _ headers: Headers, streams: Bool
    ) {
        self.caller = caller
        self.app = app
        self.idempotencyKey = idempotencyKey ?? headers["Idempotency-Key"]
        self.headers = headers
        self.streams = streams
    }

    var allHeaders: Headers {
        var all = headers
        all["Content-Type"] = "application/json"
        all["Idempotency-Key"] = idempotencyKey
        if streams { all["Accept"] = "text/event-stream" }
        return all
    }
}
