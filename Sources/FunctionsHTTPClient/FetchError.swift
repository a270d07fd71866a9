/// Why ``fetch(_:query:method:headers:body:followsRedirects:timeout:)`` failed. A handler that doesn't catch it fails: it is logged, and the
/// caller gets INTERNAL.
public struct FetchError: Error, CustomStringConvertible {
    public enum Code: Sendable {
        /// The URL, a header or the body can't be sent. Repeating the request fails the same way.
        case invalidRequest
        /// There is no connection, or it ended early. Whether the server handled the request isn't known.
        case unreachable
        /// No response within the time.
        case timedOut
        /// The response has a status outside of 200 to 299, see ``FetchResponse/requireSuccess()``.
        case status
        /// The response is larger than the caller accepts.
        case tooLarge
        /// The response isn't what the caller reads it as.
        case malformed
        /// The body was read before.
        case alreadyRead
    }

    public let code: Code
    public let message: String
    /// The response's status, if there is one.
    public let status: Int?
    /// The URL without its query, user and password, which may be secrets.
    public let url: String

    /// For tests, in which `withFetch` throws it.
    public init(_ code: Code, _ message: String, status: Int? = nil, url: String) {
        self.code = code
        self.message = message
        self.status = status
        let shown = url.prefix { $0 != "?" && $0 != "#" }
        let scheme = shown.firstRange(of: "://")?.upperBound ?? shown.startIndex
        let authority = shown[scheme...].prefix { $0 != "/" }
        let user = authority.lastIndex(of: "@").map { shown.index(after: $0) }
        self.url = user.map { String(shown[..<scheme] + shown[$0...]) } ?? String(shown)
    }

    public var description: String { url.isEmpty ? message : "\(url): \(message)" }
}
