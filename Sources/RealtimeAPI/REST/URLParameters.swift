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
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            let value = end == pair.endIndex ? pair[end...] : pair[pair.index(after: end)...]
            guard all.count < Self.maxCount,
                let name = PercentEncoding.decoded(bytes: pair[..<end], plusIsSpace: true),
                let value = PercentEncoding.decoded(bytes: value, plusIsSpace: true)
            else { return nil }
            all.append((name, value))
        }
    }

    /// The last of several values.
    subscript(name: String) -> String? { all.last { $0.name == name }?.value }
}
