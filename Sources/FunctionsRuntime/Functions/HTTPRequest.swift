import NIOCore
import TextFormats
import WorkerProtocol

/// A request to an HTTP function.
public struct HTTPRequest: FunctionInput {
    public let context: FunctionContext

    package init(context: InvocationContext) { self.context = FunctionContext(context) }

    /// For example `GET` or `POST`.
    public var method: String { context.invocation.head.method }

    /// The percent-decoded path after the function's name: `/` if it is empty.
    public var path: String {
        let path = context.invocation.head.target.prefix { $0 != "?" }
        return path.isEmpty ? "/" : PercentEncoding.decoded(path) ?? String(path)
    }

    /// The decoded query parameters, in order.
    public var query: QueryItems { QueryItems(target: context.invocation.head.target) }

    public var headers: Headers { Headers(context.invocation.head.headers) }

    /// The unchanged body, at most 10 MiB.
    public var body: [UInt8] { Array(context.invocation.body.readableBytesView) }

    /// Decodes the body from JSON.
    /// - Throws: ``HttpsError`` `invalidArgument`, with the path that doesn't decode.
    public func json<Body: Decodable>(as type: Body.Type = Body.self) throws -> Body {
        do {
            return try context.invocation.body.withUnsafeReadableBytes {
                try CallableDecoder(root: "body").decode(type, from: $0)
            }
        } catch let error as DecodingError {
            throw HttpsError(.invalidArgument, error.explanation)
        }
    }

    /// The signed-in user, if the request has a valid ID token as `Authorization: Bearer`, or a valid session cookie
    /// named `__session`. A request with an invalid token isn't refused, because an HTTP function may use the header
    /// for something else.
    public var auth: AuthData? { context.invocation.head.auth.map(AuthData.init) }
}

/// The decoded parameters of a URL query, in order.
public struct QueryItems: Sendable, Sequence {
    public let items: [(name: String, value: String)]

    init(target: String) {
        guard let mark = target.firstIndex(of: "?") else {
            items = []
            return
        }
        items = target[target.index(after: mark)...].split(separator: "&").map { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            func decode(_ part: Substring) -> String {
                PercentEncoding.decoded(part, plusIsSpace: true) ?? String(part)
            }
            return (decode(parts[0]), parts.count > 1 ? decode(parts[1]) : "")
        }
    }

    /// The first value of a parameter; nil if there is none.
    public subscript(_ name: String) -> String? { items.first { $0.name == name }?.value }

    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> { items.makeIterator() }
}
