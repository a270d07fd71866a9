import NIOHTTP1

/// A complete HTTP response.
struct HTTPAnswer: Sendable {
    var status: Int
    var headers: HTTPHeaders
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON; null if it isn't valid JSON.
    var json: JSON { (try? JSON(parsing: text)) ?? .null }

    subscript(_ header: String) -> String? { headers.first(name: header) }

    /// The JSON of each server-sent event.
    var events: [JSON] {
        text.components(separatedByBlankLine: ()).compactMap { event in
            guard event.hasPrefix("data:") else { return nil }
            return try? JSON(parsing: String(event.dropFirst(5)))
        }
    }
}

extension String {
    fileprivate func components(separatedByBlankLine: Void) -> [Substring] {
        var rest = Substring(self)
        var parts: [Substring] = []
        while let range = rest.firstRange(of: "\n\n") {
            parts.append(rest[..<range.lowerBound])
            rest = rest[range.upperBound...]
        }
        return parts
    }
}
