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

    private final class Node: Sendable {
        let literals: [Substring: Node]
        let any: Node?
        /// Patterns that end here.
        let leaves: [Leaf]
        /// Patterns whose next segment stands for any number.
        let many: [Leaf]

        init(_ patterns: [Leaf], depth: Int) {
            var literals: [Substring: [Leaf]] = [:]
            var (any, leaves, many) = ([Leaf](), [Leaf](), [Leaf]())
            for leaf in patterns {
                guard depth < leaf.pattern.segments.count else {
                    leaves.append(leaf)
                    continue
                }
                switch leaf.pattern.segments[depth] {
                case .literal(let text): literals[text[...], default: []].append(leaf)
                case .one: any.append(leaf)
                case .many: many.append(leaf)
                }
            }
            self.literals = literals.mapValues { Node($0, depth: depth + 1) }
            self.any = any.isEmpty ? nil : Node(any, depth: depth + 1)
            self.leaves = leaves
            self.many = many
        }
    }

    private let root: Node?

    package init(_ patterns: [(pattern: DocumentPattern, element: Element)]) {
        root = patterns.isEmpty ? nil : Node(patterns.map { Leaf(element: $0.element, pattern: $0.pattern) }, depth: 0)
    }

    /// The patterns that a document's path fits; none is the common answer and costs nothing to speak of.
    package func matches(_ path: DocumentPath) -> [Match] {
        leaves(path).map { Match(element: $0.element, params: $0.pattern.params(path.segments)) }
    }

    /// The same without what the wildcards stand for.
    package func elements(matching path: DocumentPath) -> [Element] { leaves(path).map(\.element) }

    private func leaves(_ path: DocumentPath) -> [Leaf] {
        guard let root else { return [] }
        var leaves: [Leaf] = []
        Self.visit(root, path.segments[...], &leaves)
        return leaves
    }

    private static func visit(_ node: Node, _ rest: ArraySlice<Substring>, _ leaves: inout [Leaf]) {
        for leaf in node.many {
            let suffix = leaf.pattern.segments.count - rest.startIndex - 1
            guard rest.count >= suffix, fits(leaf.pattern.segments.suffix(suffix), rest.suffix(suffix)) else {
                continue
            }
            leaves.append(leaf)
        }
        guard let first = rest.first else { return leaves += node.leaves }
        if let next = node.literals[first] { visit(next, rest.dropFirst(), &leaves) }
        if let any = node.any { visit(any, rest.dropFirst(), &leaves) }
    }

    private static func fits(_ segments: ArraySlice<DocumentPattern.Segment>, _ path: ArraySlice<Substring>) -> Bool {
        zip(segments, path).allSatisfy { segment, text in
            if case .literal(let literal) = segment { literal.utf8.elementsEqual(text.utf8) } else { true }
        }
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
