import NIOHTTP1
import TextFormats

/// The decoded parameters of a URL's query, in their order.
struct URLParameters: Sendable {
    private(set) var all: [(name: String, value: String)] = []

    /// A URL has fewer.
    private static let maxCount = 1_024

    init() {}

    /// - Parameter query: the text after the question mark.
    /// - Returns: nil if it isn't validly percent-encoded, or has too many parameters.
    init?(_ query: Substring) {
        var query = query
        guard let all = query.withUTF8({ Self.all(in: $0) }) else { return nil }
        self.all = all
    }

    private static func all(in query: UnsafeBufferPointer<UInt8>) -> [(name: String, value: String)]? {
        var all: [(name: String, value: String)] = []
        for pair in query.split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard all.count < maxCount,
                let name = PercentEncoding.decoded(bytes: pair[..<end], plusIsSpace: true),
                let value = PercentEncoding.decoded(bytes: pair[end...].dropFirst(), plusIsSpace: true)
            else { return nil }
            all.append((name, value))
        }
        return all
    }

    /// The last of several values, which is looked for among all parameters.
    subscript(name: String) -> String? { all.last { $0.name == name }?.value }

    /// All values, the last of several, for those who look for many.
    var byName: [String: String] { Dictionary(all.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }) }

    /// The App Check token of a request with these parameters.
    ///
    /// The JavaScript SDK, where it reads by REST for a crawler, has no header for it. Android's SDK has no token if its app
    /// doesn't use App Check, and sends "null" then.
    func appToken(_ headers: HTTPHeaders) -> String? {
        [self["ac"], headers.first(name: "X-Firebase-AppCheck")].compactMap(\.self)
            .first { !$0.isEmpty && $0 != "null" }
    }
}
