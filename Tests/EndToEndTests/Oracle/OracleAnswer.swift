import Foundation

/// An answer without what two stores can't have in common: times of their own, ids of transactions, words of errors.
struct OracleAnswer: Equatable, CustomStringConvertible {
    var status: Int
    var content: JSON

    init(_ answer: HTTPAnswer) {
        status = answer.status
        let json = answer.json
        if answer.status == 200 {
            content = Self.normal(json, under: "")
        } else {
            // A stream's error stands in an array.
            content = (json[0] ?? json)["error"]?["status"] ?? .null
        }
    }

    var description: String { "\(status) \(Self.text(content))" }

    /// What it has from a little before the first difference from another on.
    func text(differingFrom other: Self) -> String {
        let same = zip(description, other.description).prefix { $0 == $1 }.count
        return (same > 300 ? "… " : "") + description.dropFirst(same > 300 ? same - 200 : 0).prefix(1500)
    }

    private static func normal(_ json: JSON, under key: String) -> JSON {
        switch json {
        case .object(let members):
            let kept = members.filter { !isLeftOut($0.key, $0.value) }
            return .object(Dictionary(uniqueKeysWithValues: kept.map { ($0.key, normal($0.value, under: $0.key)) }))
        case .array(let elements): return .array(elements.map { normal($0, under: key) })
        case .string(let text):
            switch key {
            case "createTime", "updateTime", "readTime", "commitTime", "transaction", "nextPageToken", "message":
                return .string("a \(key)")
            case "timestampValue": return isNow(text) ? .string("now") : json
            default: return json
            }
        // 1.0 is read as an integer, and 1e300 isn't.
        case .integer(let number) where key == "doubleValue": return .double(Double(number))
        default: return json
        }
    }

    /// Protobuf's JSON may leave out what has its default. `done` and `skippedResults` are of streams, and optional.
    private static func isLeftOut(_ key: String, _ value: JSON) -> Bool {
        switch (key, value) {
        case ("done", _), ("skippedResults", _): true
        case ("fields", .object(let members)): members.isEmpty
        case ("values", .array(let elements)): elements.isEmpty
        case ("latitude", .integer(0)), ("longitude", .integer(0)): true
        case ("latitude", .double(0)), ("longitude", .double(0)): true
        default: false
        }
    }

    /// Whether a server has written the time a moment ago.
    private static func isNow(_ text: String) -> Bool {
        let whole = text.prefix(19) + "Z"
        guard let date = try? Date(String(whole), strategy: .iso8601) else { return false }
        return abs(date.timeIntervalSinceNow) < 600
    }

    private static func text(_ json: JSON) -> String {
        switch json {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let value): "\"\(value.prefix(100))\""
        case .array(let elements): "[" + elements.map(text).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.sorted { $0.key < $1.key }.map { "\($0.key): \(text($0.value))" }.joined(separator: ", ")
                + "}"
        }
    }
}
