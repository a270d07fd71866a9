package import DocumentModel

/// A value of the language.
package enum RuleValue: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case float(Double)
    case string(String)
    case bytes([UInt8])
    case timestamp(Timestamp)
    case duration(RuleDuration)
    case latlng(GeoPoint)
    case path([String])
    case list([RuleValue])
    case map([String: RuleValue])
    case set([RuleValue])
    case mapDiff(MapDiff)
    /// A list and a map of a document, whose values are converted when they are read.
    case storedList([Value])
    case storedMap([String: Value])
    /// A vector of a document: a type of its own, which has no members, elements or methods.
    case vector([Value])
    /// The variable `request`, whose members are made when they are read.
    case request
    /// What isn't known while a query is decided.
    case unknown(UnknownValue)
    /// An expression without a value.
    case error(Int32)
}

extension RuleValue {
    /// A value of a document.
    package init(_ value: Value) {
        switch value {
        case .null: self = .null
        case .boolean(let value): self = .bool(value)
        case .integer(let value): self = .int(value)
        case .double(let value): self = .float(value)
        case .timestamp(let value): self = .timestamp(value)
        case .string(let value): self = .string(value)
        case .bytes(let value): self = .bytes(value)
        case .reference(let name): self = .path(RuleValue.path(of: name.path, in: name.database.database))
        case .geoPoint(let value): self = .latlng(value)
        case .array(let values): self = .storedList(values)
        case .map(let fields): self = value.vectorElements.map { .vector($0) } ?? .storedMap(fields)
        }
    }

    /// The path of a document as rules see it: `/databases/(default)/documents/…`.
    static func path(of path: DocumentPath, in database: String) -> [String] {
        ["databases", database, "documents"] + path.segments.map(String.init)
    }

    /// The type's name, as `is` and errors have it.
    var type: String {
        switch self {
        case .null: "null"
        case .bool: "bool"
        case .int: "int"
        case .float: "float"
        case .string: "string"
        case .bytes: "bytes"
        case .timestamp: "timestamp"
        case .duration: "duration"
        case .latlng: "latlng"
        case .path: "path"
        case .list, .storedList: "list"
        case .map, .storedMap, .request: "map"
        case .vector: "vector"
        case .set: "set"
        case .mapDiff: "map_diff"
        case .unknown: "unknown"
        case .error: "error"
        }
    }

    var elements: [RuleValue]? {
        switch self {
        case .list(let elements): elements
        case .storedList(let values): values.map { RuleValue($0) }
        default: nil
        }
    }

    var members: [String: RuleValue]? {
        switch self {
        case .map(let members): members
        case .storedMap(let fields): fields.mapValues { RuleValue($0) }
        default: nil
        }
    }

    /// A member of a map; nil if this isn't a map or doesn't have it.
    func member(_ name: String) -> RuleValue? {
        switch self {
        case .map(let members): Self.member(of: members, name)
        case .storedMap(let fields): Self.member(of: fields, name).map { RuleValue($0) }
        default: nil
        }
    }

    /// Swift's dictionaries treat canonically equivalent names as equal; users and documents with such names are different.
    static func member<Member>(of members: [String: Member], _ name: String) -> Member? {
        guard let index = members.index(forKey: name), TextBytes.equal(members[index].key, name) else { return nil }
        return members[index].value
    }

    /// Names in the order of their bytes. That of Swift's strings takes long for names that aren't normalized.
    static func sorted(_ names: some Sequence<String>) -> [String] {
        names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Subtracts the number of values at all depths.
    ///
    /// - Parameter isCompared: whether to count what comparing with a similar value does: each element of a set is
    ///   looked for among all of the other set.
    /// - Returns: false if there are more than are left, or they are nested deeper.
    func count(into left: inout Int, depth: Int, isCompared: Bool = false) -> Bool {
        left -= 1
        guard left >= 0, depth > 0 else { return false }
        func subtract(_ value: RuleValue) -> Bool {
            value.count(into: &left, depth: depth - 1, isCompared: isCompared)
        }
        switch self {
        case .list(let elements):
            for element in elements where !subtract(element) { return false }
        case .set(let elements):
            let before = left
            for element in elements where !subtract(element) { return false }
            guard isCompared else { break }
            let (cost, isTooLarge) = (before - left).multipliedReportingOverflow(by: elements.count)
            guard !isTooLarge, cost <= before else { return false }
            left = before - cost
        case .map(let members):
            for member in members.values where !subtract(member) { return false }
        case .mapDiff(let diff): return subtract(.map(diff.before)) && subtract(.map(diff.after))
        case .storedList(let values):
            for value in values where !subtract(RuleValue(value)) { return false }
        case .storedMap(let fields):
            for value in fields.values where !subtract(RuleValue(value)) { return false }
        case .string(let text): left -= text.utf8.count / 64
        case .bytes(let bytes): left -= bytes.count / 64
        case .path(let segments): left -= segments.count
        case .vector(let elements): left -= elements.count
        default: break
        }
        return left >= 0
    }

    var isMap: Bool {
        switch self {
        case .map, .storedMap: true
        default: false
        }
    }
}

/// The difference of two maps: `a.diff(b)`.
package final class MapDiff: Sendable {
    let before: [String: RuleValue]
    let after: [String: RuleValue]

    init(_ before: [String: RuleValue], _ after: [String: RuleValue]) {
        self.before = before
        self.after = after
    }

    func keys(_ isIncluded: (_ before: RuleValue?, _ after: RuleValue?) -> Bool) -> RuleValue {
        let names = Array(before.keys) + after.keys.filter { RuleValue.member(of: before, $0) == nil }
        let included = names.filter { name in
            isIncluded(RuleValue.member(of: before, name), RuleValue.member(of: after, name))
        }
        return .set(RuleValue.sorted(included).map { .string($0) })
    }
}

/// A duration in nanoseconds' precision. Seconds and nanoseconds have the same sign.
package struct RuleDuration: Hashable, Sendable, Comparable {
    package let seconds: Int64
    package let nanoseconds: Int32

    init(seconds: Int64, nanoseconds: Int32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// - Returns: nil if it exceeds what rules can express: some 292 years in nanoseconds aren't enough for dates, so the
    ///   bound is that of protobuf, 10,000 years.
    init?(_ sum: Int128) {
        let (seconds, nanoseconds) = sum.quotientAndRemainder(dividingBy: 1_000_000_000)
        guard abs(seconds) <= 315_576_000_000 else { return nil }
        self.init(seconds: Int64(seconds), nanoseconds: Int32(nanoseconds))
    }

    var total: Int128 { Int128(seconds) * 1_000_000_000 + Int128(nanoseconds) }

    package static func < (a: RuleDuration, b: RuleDuration) -> Bool { a.total < b.total }
}

extension Timestamp {
    var totalNanoseconds: Int128 { Int128(seconds) * 1_000_000_000 + Int128(nanoseconds) }

    /// - Returns: nil outside of the years 1 to 9999.
    init?(totalNanoseconds total: Int128) {
        var (seconds, nanoseconds) = total.quotientAndRemainder(dividingBy: 1_000_000_000)
        if nanoseconds < 0 { (seconds, nanoseconds) = (seconds - 1, nanoseconds + 1_000_000_000) }
        guard let whole = Int64(exactly: seconds) else { return nil }
        self.init(seconds: whole, nanoseconds: Int32(nanoseconds))
        guard isInRange else { return nil }
    }
}
