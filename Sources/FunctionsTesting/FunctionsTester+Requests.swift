import DocumentModel
import DocumentStore
public import FunctionsRuntime
import NIOCore
import FunctionManifest
import WorkerProtocol

extension FunctionsTester {
    /// Sends a request to an HTTP function.
    ///
    ///     let page = try await shop.request("catalog", target: "/?limit=10")
    ///     #expect(page.status == 200)
    ///
    /// - Parameters:
    ///   - name: The function's.
    ///   - method: For example `GET` or `POST`.
    ///   - target: What follows the function's name: `/rest?query`.
    ///   - headers: Further headers of the request.
    ///   - body: At most 10 MiB.
    ///   - caller: The user whose token the request has; none by default.
    ///   - app: The app whose App Check token the request has; none by default.
    /// - Returns: What a client would receive. If the handler throws, this is the error as JSON, see
    ///   ``TestResponse/error``.
    /// - Throws: ``TestError`` if there is no such function.
    public func request(
        _ name: String, method: String = "GET", target: String = "/", headers: Headers = [:], body: [UInt8] = [],
        as caller: TestCaller? = nil, app: TestApp? = nil
    ) async throws -> TestResponse {
        guard let function = functions[name], case .http(let trigger) = function.trigger else {
            throw TestError("there is no HTTP function \"\(name)\"")
        }
        var head = InvocationHead(
            method: method,
            target: target.hasPrefix("/") ? target : "/" + target, headers: headers.block, address: .loopback)
        head.auth = try caller?.identity(project: project, at: now)
        head.app = try app?.identity(project: project, at: now)
        var response: TestResponse
        if let problem = problem(ofSize: body.count) {
            response = TestResponse(problem, status: 413)
        } else if method == "OPTIONS" && trigger.cors != .off {
            return .preflight(headers, trigger.cors)
        } else {
            let end = await perform(function, head, body: body, OperationContext()) { $1.append($0) }
            response = TestResponse(end)
        }
        response.addCORS(headers, trigger.cors)
        if method == "HEAD" || response.status == 204 || response.status == 304 { response.body = [] }
        return response
    }

    /// Sends a value as JSON to an HTTP function.
    ///
    /// - Throws: As ``request(_:method:target:headers:body:as:app:)``; `EncodingError` if the value can't be encoded.
    public func request(
        _ name: String, method: String = "POST", target: String = "/", headers: Headers = [:],
        json value: some Encodable, as caller: TestCaller? = nil, app: TestApp? = nil
    ) async throws -> TestResponse {
        var headers = headers
        if headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
        let body = try CallableEncoder(root: "body", wrapsIntegers: false).encode(value)
        return try await request(
            name, method: method, target: target, headers: headers, body: body, as: caller, app: app)
    }
}

/// The response of an HTTP function as a client receives it.
public struct TestResponse: Sendable {
    public var status: Int
    public var headers: Headers
    public var body: [UInt8]
    /// The handler's error, as in the body; nil if the handler returned.
    public private(set) var error: HttpsError?
    /// Whether the body is complete. A streamed body is cut off if the handler fails while it sends.
    public private(set) var isComplete = true

    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Decodes the body from JSON.
    ///
    /// - Throws: `DecodingError` if it doesn't have the type.
    public func json<Body: Decodable>(as type: Body.Type = Body.self) throws -> Body {
        try CallableDecoder(root: "body").decode(type, from: body)
    }

    init(_ content: RecordedResult.Content) {
        // The host sends the head with the first bytes.
        guard let head = content.head, content.failure == nil || !content.body.isEmpty else {
            self.init(HttpsError(content.failure ?? InvocationFailure(code: .internal, message: "INTERNAL")))
            return
        }
        self.init(status: Int(head.status), headers: Headers(HeaderBlock(head.sentHeaders)), body: content.body)
        isComplete = content.failure == nil
    }

    init(_ error: HttpsError, status: Int? = nil) {
        var fields: [(String, JSONValue)] = [
            ("message", .string(error.message)), ("status", .string(error.code.wireName)),
        ]
        if let details = error.details { fields.insert(("details", details), at: 0) }
        self.status = status ?? error.code.httpStatus
        headers = ["Content-Type": "application/json; charset=utf-8"]
        // A value that came from JSON can be encoded as JSON.
        body = (try? JSONValue.object(["error": .object(JSONObject(fields))]).serialized()) ?? []
        self.error = error
    }

    private init(status: Int, headers: Headers, body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    static func preflight(_ request: Headers, _ policy: CORSPolicy) -> TestResponse {
        var answer = TestResponse(
            status: 204, headers: ["Access-Control-Allow-Methods": "GET,HEAD,PUT,PATCH,POST,DELETE"])
        answer.addCORS(request, policy)
        if let wanted = request["Access-Control-Request-Headers"] {
            answer.headers["Access-Control-Allow-Headers"] = wanted
            answer.headers["Vary"] = "Origin, Access-Control-Request-Headers"
        }
        return answer
    }

    /// What the function itself says stays, as on a host.
    mutating func addCORS(_ request: Headers, _ policy: CORSPolicy) {
        guard policy != .off else { return }
        headers.add("Vary", "Origin")
        if let origin = request["Origin"], policy.allows(origin), headers["Access-Control-Allow-Origin"] == nil {
            headers["Access-Control-Allow-Origin"] = origin
        }
    }
}
