import NIOCore
import WorkerProtocol

/// A request to an HTTP function.
public struct HTTPRequest: FunctionInput {
    public let context: FunctionContext

    package init(context: InvocationContext) { self.context = FunctionContext(context) }

    /// `GET`, `POST` and so on.
    public var method: String { context.invocation.head.method }

    /// The path behind the function's name, percent-encoding undone: `/` where there is none.
    public var path: String {
        let path = context.invocation.head.target.prefix { $0 != "?" }
        return path.isEmpty ? "/" : PercentEncoding.decode(path) ?? String(path)
    }

    /// The parameters behind `?`, decoded, in order.
    public var query: QueryItems { QueryItems(target: context.invocation.head.target) }

    public var headers: Headers { Headers(context.invocation.head.headers) }

    /// The body as it came; at most 10 MiB.
    public var body: [UInt8] { Array(context.invocation.body.readableBytesView) }

    /// The body read as JSON.
    /// - Throws: ``HttpsError`` `invalidArgument`, which names the path that doesn't decode.
    public func json<Body: Decodable>(as type: Body.Type = Body.self) throws -> Body {
        do {
            return try context.invocation.body.withUnsafeReadableBytes {
                try CallableDecoder(root: "body").decode(type, from: $0)
            }
        } catch let error as DecodingError {
            throw HttpsError(.invalidArgument, error.explanation)
        }
    }

    /// The signed-in user, where the request has a valid ID token as `Authorization: Bearer`, or a valid session cookie
    /// named `__session`.
    /// An HTTP function may use the header for anything, so an invalid token isn't refused here.
    public var auth: AuthData? { context.invocation.head.auth.map(AuthData.init) }
}

/// The parameters of a URL's query, decoded, in order.
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
                PercentEncoding.decode(Substring(part.map { $0 == "+" ? " " : $0 })) ?? String(part)
            }
            return (decode(parts[0]), parts.count > 1 ? decode(parts[1]) : "")
        }
    }

    /// The first value of a parameter; nil where there is none.
    public subscript(_ name: String) -> String? { items.first { $0.name == name }?.value }

    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> { items.makeIterator() }
}

enum PercentEncoding {
    /// Nil where an escape is malformed or the bytes aren't UTF-8.
    static func decode(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var iterator = text.utf8.makeIterator()
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = iterator.next(), let low = iterator.next(),
                let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
