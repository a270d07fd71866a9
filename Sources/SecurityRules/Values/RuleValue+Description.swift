import DocumentModel

extension RuleValue: CustomStringConvertible {
    /// Longer values are cut: they are for people.
    private static let maxShown = 200

    /// The value for an explanation, as the language would write it where it can.
    package var description: String {
        let text = shown(depth: 0)
        return text.count > Self.maxShown ? text.prefix(Self.maxShown) + "…" : text
    }

    /// The root of all paths has no segments.
    static func text(ofPath segments: [String]) -> String {
        segments.isEmpty ? "/" : segments.map { "/" + $0 }.joined()
    }

    private func shown(depth: Int) -> String {
        guard depth < 4 else { return "…" }
        func list(_ elements: [RuleValue], _ open: String, _ close: String) -> String {
            let texts = elements.prefix(20).map { $0.shown(depth: depth + 1) }
            return open + texts.joined(separator: ", ") + (elements.count > 20 ? ", …" : "") + close
        }
        switch self {
        case .null: return "null"
        case .bool(let value): return "\(value)"
        case .int(let value): return "\(value)"
        case .float(let value): return "\(value)"
        case .string(let text): return "'\(text.prefix(Self.maxShown))'"
        case .bytes(let bytes): return "\(bytes.count) bytes"
        case .timestamp(let time): return "\(time)"
        case .duration(let duration): return "\(Double(duration.total) / 1e9) s"
        case .latlng(let point): return "latlng.value(\(point.latitude), \(point.longitude))"
        case .path(let segments): return Self.text(ofPath: segments)
        case .list, .storedList: return list(elements ?? [], "[", "]")
        case .set(let elements): return list(elements, "[", "].toSet()")
        case .map, .storedMap:
            let members = (members ?? [:]).sorted { $0.key < $1.key }
            let texts = members.prefix(20).map { "'\($0.key)': \($0.value.shown(depth: depth + 1))" }
            return "{" + texts.joined(separator: ", ") + (members.count > 20 ? ", …" : "") + "}"
        case .vector(let elements): return "a vector of \(elements.count) numbers"
        case .mapDiff: return "the difference of two maps"
        case .request: return "request"
        case .unknown: return "not known"
        case .error: return "error"
        }
    }
}
