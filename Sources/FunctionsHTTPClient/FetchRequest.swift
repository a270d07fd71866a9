public import FunctionsRuntime
import TextFormats

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import WorkerProtocol

/// A request that a handler sends with ``fetch(_:query:method:headers:body:followsRedirects:timeout:)``.
public struct FetchRequest: Sendable {
    public private(set) var url: String
    /// In upper case.
    public private(set) var method: String
    /// Those of the call, with the content type and the trace.
    public private(set) var headers: Headers
    private(set) var content: FetchBody.Content
    /// When the caller stops waiting.
    let deadline: ContinuousClock.Instant

    /// - Throws: ``FetchError`` if the URL or the method isn't one, or the body can't be encoded.
    init(
        url: String, query: KeyValuePairs<String, String>, method: String?, headers: Headers, body: FetchBody?,
        deadline: ContinuousClock.Instant
    ) throws {
        self.url = Self.url(url, with: PercentEncoding.form(query))
        try Self.check(self.url)
        self.method = method?.uppercased() ?? (body == nil ? "GET" : "POST")
        // The client writes it as it is: after a line break in it, headers or another request would begin.
        guard HTTPText.isToken(self.method) else {
            throw FetchError(.invalidRequest, "the method isn't a token, such as GET", url: self.url)
        }
        self.deadline = deadline
        content = try body?.content() ?? .bytes([])
        var headers = headers
        if let type = body?.contentType, headers["Content-Type"] == nil { headers["Content-Type"] = type }
        for name in Self.traceHeaders where headers[name] == nil {
            headers[name] = InvocationContext.current.flatMap { Headers($0.head.headers)[name] }
        }
        if headers["User-Agent"] == nil { headers["User-Agent"] = "functions-host" }
        self.headers = headers
    }

    /// The body of a request that `withFetch` answers.
    public var body: [UInt8] {
        guard case .bytes(let bytes) = content else { return [] }
        return bytes
    }

    /// The body as text in UTF-8.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Decodes the body from JSON.
    /// - Throws: ``FetchError`` with the path that doesn't decode.
    public func json<Body: Decodable>(as type: Body.Type = Body.self) throws -> Body {
        try decodeJSON(type, from: body, of: "body", url)
    }

    /// The request with the parts of a streamed body together.
    func gathered() async throws -> FetchRequest {
        guard case .stream(let length, let parts) = content else { return self }
        var request = self
        var bytes: [UInt8] = []
        do {
            for try await part in parts() { bytes += part }
        } catch {
            throw FetchError(.unreachable, "the body's parts failed: \(error)", url: url)
        }
        guard length == nil || length == bytes.count else {
            throw FetchError(.invalidRequest, "the body's length isn't the one that was given", url: url)
        }
        request.content = .bytes(bytes)
        return request
    }

    /// A URL with more of a query, before its fragment, which isn't sent.
    private static func url(_ url: String, with query: String) -> String {
        guard !query.isEmpty else { return url }
        let target = url.prefix { $0 != "#" }
        let separator = target.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return "\(target)\(separator)\(query)\(url[target.endIndex...])"
    }

    private static let traceHeaders = ["traceparent", "tracestate", "X-Cloud-Trace-Context"]

    /// - Throws: ``FetchError`` if a request can't be sent to the URL.
    private static func check(_ url: String) throws {
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw FetchError(
                .invalidRequest, "the URL has a character that must be percent-encoded; put text into query:", url: url)
        }
        guard Origin(url) != nil else {
            throw FetchError(.invalidRequest, "this isn't an http or https URL with a host", url: url)
        }
    }

    /// The request that follows a redirect (RFC 9110, 15.4); nil if the response is to be returned.
    func redirected(by response: FetchResponse) throws -> FetchRequest? {
        guard [301, 302, 303, 307, 308].contains(response.status), let location = response.headers["Location"],
            let base = URL(string: url), let target = URL(string: location, relativeTo: base)?.absoluteString,
            let (from, to) = Origin(url).flatMap({ from in Origin(target).map { (from, $0) } }),
            to.isSecure || !from.isSecure
        else { return nil }
        var next = self
        next.url = String(target.prefix { $0 != "#" })
        if response.status == 303 && method != "HEAD" || response.status < 303 && method == "POST" {
            next.method = "GET"
            next.content = .bytes([])
            next.headers["Content-Type"] = nil
        }
        if case .stream = next.content { return nil }
        if to != from {
            guard case .bytes(let bytes) = next.content, bytes.isEmpty else { return nil }
            var kept = Headers()
            for name in ["Accept", "Accept-Language", "User-Agent"] + Self.traceHeaders { kept[name] = headers[name] }
            next.headers = kept
        }
        try Self.check(next.url)
        return next
    }

    static func deadline(_ timeout: Duration?) -> ContinuousClock.Instant {
        let last = InvocationContext.current?.deadline
        guard let timeout else { return last ?? .now + .seconds(60) }
        return min(last ?? .now + timeout, .now + timeout)
    }
}

/// Scheme, host and port of a URL.
private struct Origin: Equatable {
    let isSecure: Bool
    let host: String
    let port: Int

    /// - Returns: nil if the URL isn't one of http or https, with a host and a port that exists.
    init?(_ url: String) {
        let lowercased = url.prefix(8).lowercased()
        isSecure = lowercased.hasPrefix("https://")
        guard isSecure || lowercased.hasPrefix("http://"), let url = URL(string: url),
            let host = url.host(percentEncoded: true), !host.isEmpty
        else { return nil }
        self.host = host.lowercased()
        port = url.port ?? (isSecure ? 443 : 80)
        guard (1...65_535).contains(port) else { return nil }
    }
}

extension PercentEncoding {
    /// Names and values as a query or a form.
    fileprivate static func form(_ fields: KeyValuePairs<String, String>) -> String {
        func part(_ text: String) -> String { encoded(text).replacing("/", with: "%2F") }
        return fields.map { "\(part($0.key))=\(part($0.value))" }.joined(separator: "&")
    }
}

/// What ``fetch(_:query:method:headers:body:followsRedirects:timeout:)`` sends.
public struct FetchBody: Sendable {
    enum Content: Sendable {
        case bytes([UInt8])
        case stream(length: Int?, @Sendable () -> AnyParts)
    }

    let contentType: String?
    let content: @Sendable () throws -> Content

    private init(_ contentType: String?, _ content: @escaping @Sendable () throws -> Content) {
        self.contentType = contentType
        self.content = content
    }

    /// A value as `application/json`. Integers stay numbers, whatever their size.
    public static func json(_ value: some Encodable & Sendable) -> FetchBody {
        FetchBody("application/json") {
            do {
                return .bytes(try CallableEncoder(root: "body", wrapsIntegers: false).encode(value))
            } catch let error as EncodingError {
                throw FetchError(.invalidRequest, error.explanation, url: "")
            }
        }
    }

    /// Fields of a form, as `application/x-www-form-urlencoded`, in this order.
    public static func form(_ fields: KeyValuePairs<String, String>) -> FetchBody {
        let text = PercentEncoding.form(fields)
        return FetchBody("application/x-www-form-urlencoded") { .bytes(Array(text.utf8)) }
    }

    /// Text in UTF-8, as `text/plain`.
    public static func text(_ text: String) -> FetchBody {
        FetchBody("text/plain; charset=utf-8") { .bytes(Array(text.utf8)) }
    }

    /// Bytes, without a content type.
    public static func bytes(_ bytes: [UInt8]) -> FetchBody { FetchBody(nil) { .bytes(bytes) } }

    /// Parts that are sent as they come, as fast as the server reads. Such a request is never repeated. They are read in a
    /// task of the client's: the invocation's logger and cancellation don't reach them.
    ///
    /// - Parameters:
    ///   - length: The sum of all parts' bytes, which many servers ask for; nil if it isn't known.
    ///   - parts: Read once.
    public static func stream<Parts: AsyncSequence & Sendable>(_ parts: Parts, length: Int? = nil) -> FetchBody
    where Parts.Element == [UInt8] {
        FetchBody(nil) { .stream(length: length) { AnyParts(parts) } }
    }
}
