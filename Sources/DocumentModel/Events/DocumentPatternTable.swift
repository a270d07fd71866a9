/// Matches a path against many patterns at once.
package struct DocumentPatternTable<Element: Sendable>: Sendable {
    package struct Match: Sendable {
        package var element: Element
        /// The text that the pattern's named wildcards match.
        package var params: [String: String]
    }

    private let elements: [Element]
    private let tree: DocumentPatternTree

    package init(_ patterns: [(pattern: DocumentPattern, element: Element)]) {
        elements = patterns.map(\.element)
        tree = DocumentPatternTree(patterns.map(\.pattern))
    }

    /// The patterns that match a document's path. Most paths match none, which is cheap.
    package func matches(_ path: DocumentPath) -> [Match] {
        let leaves = tree.leaves(path)
        guard !leaves.isEmpty else { return [] }
        let segments = path.segments
        return leaves.map { Match(element: elements[$0.number], params: $0.pattern.params(segments)) }
    }

    /// The matching elements, without their parameters.
    package func elements(matching path: DocumentPath) -> [Element] { tree.leaves(path).map { elements[$0.number] } }
}

/// The patterns as a tree of their segments. A path is rejected at its first segment if no pattern starts with it,
/// regardless of the number of patterns.
///
/// Searched for each document that is written, so it isn't generic: generic code isn't specialized for other modules.
private struct DocumentPatternTree: Sendable {
    struct Leaf: Sendable {
        var number: Int
        var pattern: DocumentPattern
    }

    /// Patterns that continue with any number of segments, and the segments a path must end with to match.
    private struct Tail: Sendable {
        var leaf: Leaf
        /// Nil matches any segment.
        var segments: [[UInt8]?]
    }

    private final class Node: Sendable {
        /// Sorted by bytes: strings that Swift considers equal may name different documents.
        let literals: [[UInt8]]
        let nodes: [Node]
        let any: Node?
        /// Patterns that end here.
        let leaves: [Leaf]
        let tails: [Tail]

        init(_ patterns: [Leaf], depth: Int) {
            var literals: [[UInt8]: [Leaf]] = [:]
            var (any, leaves, tails) = ([Leaf](), [Leaf](), [Tail]())
            for leaf in patterns {
                guard depth < leaf.pattern.segments.count else {
                    leaves.append(leaf)
                    continue
                }
                switch leaf.pattern.segments[depth] {
                case .literal(let text): literals[Array(text.utf8), default: []].append(leaf)
                case .one: any.append(leaf)
                case .many:
                    tails.append(Tail(leaf: leaf, segments: leaf.pattern.segments[(depth + 1)...].map(\.bytes)))
                }
            }
            let sorted = literals.sorted { $0.key.lexicographicallyPrecedes($1.key) }
            self.literals = sorted.map(\.key)
            nodes = sorted.map { Node($0.value, depth: depth + 1) }
            self.any = any.isEmpty ? nil : Node(any, depth: depth + 1)
            self.leaves = leaves
            self.tails = tails
        }

        func node(after segment: UnsafeBufferPointer<UInt8>) -> Node? {
            var (low, high) = (0, literals.count)
            while low < high {
                let middle = (low + high) / 2
                let order = literals[middle].withUnsafeBufferPointer { TextBytes.order($0, segment) }
                if order == 0 { return nodes[middle] }
                if order < 0 { low = middle + 1 } else { high = middle }
            }
            return nil
        }
    }

    private let root: Node?

    init(_ patterns: [DocumentPattern]) {
        root =
            patterns.isEmpty
            ? nil : Node(patterns.enumerated().map { Leaf(number: $0.offset, pattern: $0.element) }, depth: 0)
    }

    /// The patterns that match a document's path.
    func leaves(_ path: DocumentPath) -> [Leaf] {
        guard let root else { return [] }
        var leaves: [Leaf] = []
        var text = path.string
        text.withUTF8 { Self.visit(root, $0, from: 0, &leaves) }
        return leaves
    }

    /// - Parameter start: The start of the next segment; beyond the path's end if there is none.
    private static func visit(
        _ node: Node, _ path: UnsafeBufferPointer<UInt8>, from start: Int, _ leaves: inout [Leaf]
    ) {
        for tail in node.tails where fits(tail.segments, path, from: start) { leaves.append(tail.leaf) }
        guard start < path.count else { return leaves += node.leaves }
        guard !node.nodes.isEmpty || node.any != nil else { return }
        let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.count
        if let next = node.node(after: UnsafeBufferPointer(rebasing: path[start..<end])) {
            visit(next, path, from: end + 1, &leaves)
        }
        if let any = node.any { visit(any, path, from: end + 1, &leaves) }
    }

    /// Whether the path, from `start` on, ends with these segments.
    private static func fits(_ tail: [[UInt8]?], _ path: UnsafeBufferPointer<UInt8>, from start: Int) -> Bool {
        var end = path.count
        for segment in tail.reversed() {
            guard end > start else { return false }
            let first = path[start..<end].lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? start
            if let segment, !segment.elementsEqual(path[first..<end]) { return false }
            end = first - 1
        }
        return true
    }
}

extension DocumentPattern {
    /// The parameters of the named wildcards for a path that matches.
    package func params(_ path: [Substring]) -> [String: String] {
        var params: [String: String] = [:]
        var position = 0
        for segment in segments {
            let length = segment.isMany ? max(0, path.count - segments.count + 1) : 1
            guard position + length <= path.count else { break }
            if let name = segment.name {
                params[name] = path[position..<position + length].joined(separator: "/")
            }
            position += length
        }
        return params
    }
}
