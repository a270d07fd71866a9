import Crypto
import FoundationEssentials
package import RealtimeHashing
package import RealtimeModel
package import TestSupport

/// What a mobile client does with compound hashes, written without the model's hashers: it keeps leaves by their paths.
///
/// As the SDKs, it leaves out an object's priority after which no child comes, and never ends a range with a priority.
package struct MobileClient {
    /// A leaf, or an object's priority, with the names from the root.
    private typealias Leaf = (names: [String], value: RealtimeNode)

    package private(set) var node: RealtimeNode?

    package init(_ node: RealtimeNode?) { self.node = node }

    package var hasUnhashedPriority: Bool {
        guard let node else { return false }
        return Self.leaves(of: node, names: []).count > Self.leaves(of: node, names: [], isHash: true).count
    }

    /// Splits the leaves at random, but not after a priority.
    package func compoundHash(splitting random: inout SeededGenerator) -> RealtimeCompoundHash {
        var hashes: [String] = []
        var paths: [RealtimeTarget] = []
        var range: [Leaf] = []
        let leaves = node.map { Self.leaves(of: $0, names: [], isHash: true) } ?? []
        for (position, leaf) in leaves.enumerated() {
            range.append(leaf)
            let isLast = position == leaves.count - 1
            guard isLast || random.once(in: 3) && leaf.names.last != ".priority" else { continue }
            hashes.append(Self.hash(of: range))
            if let path = try? RealtimeTarget(leaf.names.joined(separator: "/")) { paths.append(path) }
            range = []
        }
        guard let hash = RealtimeCompoundHash(hashes: hashes + [""], paths: paths) else {
            fatalError("the paths aren't in order: \(paths)")
        }
        return hash
    }

    /// Replaces the leaves of a range.
    package mutating func merge(_ range: RealtimeRange) {
        func isWithin(_ leaf: Leaf) -> Bool {
            guard let place = try? RealtimeTarget(leaf.names.joined(separator: "/")) else { return false }
            return range.start.map { $0 < place } ?? true && range.end.map { !($0 < place) } ?? true
        }
        let received = range.node.map { Self.leaves(of: $0, names: []) } ?? []
        // A leaf replaces an object with its priority.
        var kept = (node.map { Self.leaves(of: $0, names: []) } ?? []).filter { leaf in
            !isWithin(leaf) && !received.contains { leaf.names.starts(with: $0.names) }
        }
        // The priority of a leaf at the range's start, or above it, has a place behind the start.
        if let start = range.start {
            let names = start.path.keys.map(\.string) + (start.isPriority ? [".priority"] : [])
            for index in kept.indices where names.starts(with: kept[index].names) {
                kept[index].value = RealtimeNode(kept[index].value.leaf ?? .boolean(false))
            }
        }
        var merged: RealtimeNode?
        let all = kept + received
        for leaf in all where leaf.names.last != ".priority" { merged.set(leaf.value, at: Self.target(leaf)) }
        for leaf in all where leaf.names.last == ".priority" { merged.set(leaf.value, at: Self.target(leaf)) }
        node = merged
    }

    private static func target(_ leaf: Leaf) -> RealtimeTarget {
        let isPriority = leaf.names.last == ".priority"
        let keys = (isPriority ? leaf.names.dropLast() : leaf.names[...]).map { RealtimeKey(unchecked: $0) }
        return RealtimeTarget(RealtimePath(unchecked: keys), isPriority: isPriority)
    }

    private static func leaves(of node: RealtimeNode, names: [String], isHash: Bool = false) -> [Leaf] {
        guard node.leaf == nil else { return [(names, node)] }
        var children: [(name: RealtimeKey, leaves: [Leaf])] = node.children.map {
            ($0.key, leaves(of: $0.node, names: names + [$0.key.string], isHash: isHash))
        }
        let priorityKey = RealtimeKey(unchecked: ".priority")
        if let priority = node.priority, !isHash || children.contains(where: { priorityKey < $0.name }) {
            children.append((priorityKey, [(names + [".priority"], RealtimeNode(priority.leaf))]))
        }
        return children.sorted { $0.name < $1.name }.flatMap(\.leaves)
    }

    private static func hash(of leaves: [Leaf]) -> String {
        let text = "(" + text(of: leaves, depth: 0) + ")"
        return Data(Insecure.SHA1.hash(data: Data(text.utf8))).base64EncodedString()
    }

    private static func text(of leaves: [Leaf], depth: Int) -> String {
        if leaves.count == 1, leaves[0].names.count == depth { return text(of: leaves[0].value) }
        var groups: [[Leaf]] = []
        for leaf in leaves {
            if let last = groups.last?.last, Array(last.names[depth].utf8) == Array(leaf.names[depth].utf8) {
                groups[groups.count - 1].append(leaf)
            } else {
                groups.append([leaf])
            }
        }
        return groups.map { "\(quoted($0[0].names[depth])):(\(text(of: $0, depth: depth + 1)))" }.joined(separator: ",")
    }

    private static func text(of node: RealtimeNode) -> String {
        (node.priority.map { "priority:\(text(of: $0.leaf)):" } ?? "") + (node.leaf.map { text(of: $0) } ?? "")
    }

    private static func text(of leaf: RealtimeLeaf) -> String {
        switch leaf {
        case .boolean(let value): "boolean:\(value)"
        case .string(let value): "string:\(quoted(value))"
        case .number(let number):
            "number:" + String(repeating: "0", count: number.double.bitPattern.leadingZeroBitCount / 4)
                + (number.double == 0 ? "" : String(number.double.bitPattern, radix: 16))
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
