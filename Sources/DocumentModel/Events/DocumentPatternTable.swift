/// Many patterns, matched against a path at once.
///
/// A tree of segments: a path that no pattern's first segments fit is refused at its first segment, however many
/// patterns there are.
package struct DocumentPatternTable<Element: Sendable>: Sendable {
    package struct Match: Sendable {
        package var element: Element
        /// What the pattern's named wildcards stand for.
        package var params: [String: String]
    }

    private struct Leaf: Sendable {
        var element: Element
        var pattern: DocumentPattern
    }

    /// Patterns whose next segment stands for any number, with what a path must end in to fit.
    private struct Tail: Sendable {
        var leaf: Leaf
        /// Nil for any segment.
        var segments: [[UInt8]?]
    }

    private final class Node: Sendable {
        /// By their bytes, in order: texts that are the same to Swift may be different documents.
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

    package init(_ patterns: [(pattern: DocumentPattern, element: Element)]) {
        root = patterns.isEmpty ? nil : Node(patterns.map { Leaf(element: $0.element, pattern: $0.pattern) }, depth: 0)
    }

    /// The patterns that a document's path fits; none is the common answer and costs nothing to speak of.
    package func matches(_ path: DocumentPath) -> [Match] {
        let leaves = leaves(path)
        guard !leaves.isEmpty else { return [] }
        let segments = path.segments
        return leaves.map { Match(element: $0.element, params: $0.pattern.params(segments)) }
    }

    /// The same without what the wildcards stand for.
    package func elements(matching path: DocumentPath) -> [Element] { leaves(path).map(\.element) }

    private func leaves(_ path: DocumentPath) -> [Leaf] {
        guard let root else { return [] }
        var leaves: [Leaf] = []
        var text = path.string
        text.withUTF8 { Self.visit(root, $0, from: 0, &leaves) }
        return leaves
    }

    /// - Parameter start: where the next segment begins; behind the end where there is none.
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

    /// Whether what a path has from `start` on ends in such segments.
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
    /// What its named wildcards stand for in a path that it fits.
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
