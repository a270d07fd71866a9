import RealtimeHashing
import RealtimeModel
import RealtimeStore
import RealtimeTesting
import StrictJSON
import TestSupport

/// Random nodes, writes and queries over few keys and values, so that they meet often.
struct RandomTree {
    var generator: SeededGenerator

    static let keys = [
        "a", "b", "ab", "0", "1", "2", "7", "10", "-1", "01", "é", "\u{FFFD}", "😀", "users", "x",
    ].map { RealtimeKey(unchecked: $0) }

    mutating func key() -> RealtimeKey { generator.pick(Self.keys) }

    mutating func path(maxDepth: Int = 3) -> RealtimePath {
        let depth = Int.random(in: 0...maxDepth, using: &generator)
        return RealtimePath(unchecked: (0..<depth).map { _ in key() })
    }

    /// A path at which something exists, or one a bit beside it.
    mutating func path(in tree: RealtimeTree) -> RealtimePath {
        guard !generator.once(in: 3) else { return path() }
        var node = tree.root
        var path = RealtimePath.root
        while let children = node?.children, !children.isEmpty, !generator.once(in: 4) {
            guard let child = Array(children).randomElement(using: &generator) else { break }
            path = path.child(child.key)
            node = child.node
        }
        return path
    }

    mutating func leaf() -> RealtimeLeaf {
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: .boolean(Bool.random(using: &generator))
        case 1: .number(RealtimeNumber(Double.random(in: -5...5, using: &generator)))
        case 2:
            .number(generator.pick([RealtimeNumber(Int64.max), RealtimeNumber(0x1p63), RealtimeNumber(Int64.max - 1)]))
        case 3: .string(generator.pick(["", "a", "é", "\u{FFFD}", "😀", "a\u{0}", "a\u{1}b"]))
        case 4:
            .string(
                String(repeating: "long", count: 300)
                    + generator.pick(["", "a", "b", String(repeating: "c", count: 20)]))
        default: .number(RealtimeNumber(Int64.random(in: -3...3, using: &generator)))
        }
    }

    mutating func priority() -> RealtimePriority? {
        guard generator.once(in: 3) else { return nil }
        return generator.once(in: 2)
            ? .number(RealtimeNumber(Int64.random(in: -2...2, using: &generator)))
            : .string(generator.pick(["p", "q", "é"]))
    }

    mutating func node(maxDepth: Int = 3) -> RealtimeNode? {
        if maxDepth == 0 || generator.once(in: 3) { return RealtimeNode(leaf(), priority: priority()) }
        var node: RealtimeNode?
        for _ in 0..<Int.random(in: 0...5, using: &generator) {
            node.set(self.node(maxDepth: maxDepth - 1), at: RealtimePath(unchecked: [key()]))
        }
        if var changed = node {
            changed.priority = priority()
            node = changed
        }
        return node
    }

    mutating func write(in tree: RealtimeTree) throws -> RealtimeWrite {
        let target = RealtimeTarget(path(in: tree))
        switch Int.random(in: 0..<12, using: &generator) {
        case 0, 1, 2: return .set(target, RealtimeWriteValue(node()))
        case 3, 4: return .set(target, RealtimeWriteValue(nil))
        case 5:
            let place = RealtimeTarget(path(in: tree), isPriority: true)
            return .set(place, RealtimeWriteValue(priority().map { RealtimeNode($0.leaf) }))
        case 6:
            let json =
                generator.once(in: 2)
                ? #"{".sv":"timestamp"}"#
                : #"{"a":{".sv":{"increment":2}},"b":{".value":1,".priority":{".sv":"timestamp"}}}"#
            return .set(target, try RealtimeWriteValue(parsing: Array(json.utf8), at: target))
        case 7:
            let json = #"{".sv":{"increment":1.5}}"#
            return .set(target, try RealtimeWriteValue(parsing: Array(json.utf8), at: target))
        case 8:
            let hash = generator.once(in: 3) ? "" : tree[target].hash
            return .set(target, RealtimeWriteValue(node()), ifHash: hash)
        default:
            var entries: [RealtimeUpdate.Entry] = []
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = RealtimeTarget(path(in: tree), isPriority: generator.once(in: 6))
                guard !entries.contains(where: { $0.target.contains(place) || place.contains($0.target) }) else {
                    continue
                }
                let value =
                    place.isPriority
                    ? priority().map { RealtimeNode($0.leaf) } : generator.once(in: 3) ? nil : node(maxDepth: 2)
                entries.append(.init(target: place, value: RealtimeWriteValue(value)))
            }
            return .update(try RealtimeUpdate(entries))
        }
    }

    /// A node as JSON, with its keys in any order and priorities before or behind them.
    mutating func json(_ node: RealtimeNode?) -> [UInt8] {
        guard let node else { return Array((generator.once(in: 2) ? "null" : #"{"a":{},"b":null}"#).utf8) }
        var members: [[UInt8]] = []
        func member(_ key: String, _ value: [UInt8]) -> [UInt8] {
            var writer = JSONWriter(capacity: 64)
            writer.key(key)
            return writer.bytes + value
        }
        func text(_ leaf: RealtimeLeaf) -> [UInt8] {
            var writer = JSONWriter(capacity: 64)
            writer.realtime(leaf)
            return writer.bytes
        }
        if let leaf = node.leaf {
            guard let priority = node.priority else { return text(leaf) }
            members = [member(".value", text(leaf)), member(".priority", text(priority.leaf))]
        } else {
            if generator.once(in: 4) { members.append(member("nothing", Array("[null,{}]".utf8))) }
            for child in node.children { members.append(member(child.key.string, json(child.node))) }
            if let priority = node.priority { members.append(member(".priority", text(priority.leaf))) }
        }
        members.shuffle(using: &generator)
        return Array("{ ".utf8) + members.joined(separator: Array(" ,\n".utf8)) + Array("}".utf8)
    }

    mutating func bound(_ index: RealtimeQuery.Index) -> RealtimeQuery.Bound {
        let key: RealtimeQuery.BoundKey =
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: .minimum
            case 1: .maximum
            default: .key(self.key())
            }
        let value = index == .key || generator.once(in: 6) ? nil : leaf()
        return .init(value: value, key: key, isInclusive: Bool.random(using: &generator))
    }

    mutating func indexes() -> [RealtimeIndexDefinition] {
        (0..<Int.random(in: 0...4, using: &generator)).map { _ in
            let parents = (0..<Int.random(in: 0...2, using: &generator)).map { _ in
                generator.once(in: 2) ? RealtimeIndexDefinition.Step.any : .key(key())
            }
            return RealtimeIndexDefinition(parents: parents, index: generator.once(in: 3) ? .value : .child(child()))
        }
    }

    private mutating func child() -> RealtimePath {
        RealtimePath(unchecked: generator.once(in: 4) ? [key(), key()] : [key()])
    }

    mutating func query() -> RealtimeQuery {
        let index: RealtimeQuery.Index =
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: .key
            case 1: .value
            case 2: .priority
            case 3: .child(RealtimePath(unchecked: [key()]))
            default: .child(RealtimePath(unchecked: [RealtimeKey(unchecked: "a"), RealtimeKey(unchecked: "b")]))
            }
        var query = RealtimeQuery(index: index)
        if generator.once(in: 2) { query.start = bound(index) }
        if generator.once(in: 2) { query.end = bound(index) }
        if generator.once(in: 2) {
            let count = Int.random(in: 1...4, using: &generator)
            query.limit = generator.once(in: 2) ? .first(count) : .last(count)
        }
        return query
    }
}
