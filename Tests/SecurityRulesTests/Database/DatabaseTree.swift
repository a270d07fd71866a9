import StrictJSON
import Synchronization

@testable import SecurityRules

/// A tree in memory. It refuses paths that no node can have, and counts what is read.
final class DatabaseTree: DatabaseRulesData {
    struct ImpossiblePath: Error {}
    struct Unreadable: Error {}

    private let root: JSONValue
    private let priorities: [String: DatabaseRulesValue]
    /// Reading this path fails.
    private let unreadable: String?
    private let reads = Mutex<[String]>([])

    /// - Parameter json: the tree; null and empty objects are nothing.
    init(_ json: JSONValue, priorities: [String: DatabaseRulesValue] = [:], unreadable: String? = nil) {
        root = Self.pruned(json)
        self.priorities = priorities
        self.unreadable = unreadable
    }

    convenience init(_ json: String) throws { self.init(try JSONValue(parsing: Array(json.utf8))) }

    /// The paths that were read, in order.
    var readPaths: [String] { reads.withLock { $0 } }

    /// This tree with other values at some paths.
    func setting(_ values: [(path: [String], value: JSONValue)]) -> DatabaseTree {
        var changed = root
        for (path, value) in values { changed = Self.set(changed, path[...], value) }
        return DatabaseTree(changed, priorities: priorities)
    }

    private static func set(_ tree: JSONValue, _ path: ArraySlice<String>, _ value: JSONValue) -> JSONValue {
        guard let first = path.first else { return value }
        var object = tree.objectValue ?? JSONObject()
        object[first] = set(object[first] ?? .null, path.dropFirst(), value)
        return .object(object)
    }

    private static func pruned(_ value: JSONValue) -> JSONValue {
        guard case .object(let object) = value else { return value }
        let members = object.map { ($0.key, pruned($0.value)) }.filter { $0.1 != .null }
        return members.isEmpty ? .null : .object(JSONObject(members))
    }

    private func node(at path: ArraySlice<String>) throws -> JSONValue {
        guard path.count <= 32, path.allSatisfy({ !$0.isEmpty && !$0.contains(where: { ".$#[]/".contains($0) }) })
        else {
            throw ImpossiblePath()
        }
        let text = "/" + path.joined(separator: "/")
        if text == unreadable { throw Unreadable() }
        reads.withLock { $0.append(text) }
        var node = root
        for name in path { node = node[name] ?? .null }
        return node
    }

    func value(at path: ArraySlice<String>) throws -> DatabaseRulesValue {
        switch try node(at: path) {
        case .null, .array: .null
        case .bool(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .unsigned(let value): .double(Double(value))
        case .double(let value): .double(value)
        case .string(let value): .string(value)
        case .object: .object
        }
    }

    func priority(at path: ArraySlice<String>) throws -> DatabaseRulesValue {
        _ = try node(at: path)
        return priorities["/" + path.joined(separator: "/")] ?? .null
    }

    func childNames(at path: ArraySlice<String>, limit: Int) throws -> [String] {
        Array((try node(at: path).objectValue?.keys ?? []).prefix(limit))
    }
}

/// Rules and requests of tests.
enum DatabaseSamples {
    static let now: Int64 = 1_795_000_000_123

    static func path(_ text: String) -> [String] { text.split(separator: "/").map(String.init) }

    static func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

    static func user(_ uid: String?) -> JSONValue {
        uid.map { ["uid": .string($0), "provider": "custom", "token": ["sub": .string($0)]] } ?? .null
    }

    /// Whether a user may read a path.
    static func reads(
        _ rules: DatabaseRules, _ path: String, as uid: String? = nil, query: DatabaseRulesQuery? = nil,
        in tree: DatabaseTree = DatabaseTree(.null)
    ) throws -> DatabaseRulesDecision {
        try rules.decide(.read(self.path(path), query, auth: user(uid), now: now), before: tree)
    }

    /// Whether a user may write values, each a path and a JSON text.
    static func writes(
        _ rules: DatabaseRules, _ values: [(path: String, json: String)], as uid: String? = nil,
        in tree: DatabaseTree = DatabaseTree(.null), detail: DatabaseRulesDecision.Detail = .rules
    ) throws -> DatabaseRulesDecision {
        let after = tree.setting(try values.map { (path($0.path), try json($0.json)) })
        return try rules.decide(
            .write(values.map { path($0.path) }, auth: user(uid), now: now), before: tree, after: after, detail: detail)
    }

    /// The errors and warnings of a file.
    static func diagnostics(_ text: String) -> [String] {
        do { return try DatabaseRules(text).warnings.map(\.description) } catch {
            return error.diagnostics.map(\.description)
        }
    }
}
