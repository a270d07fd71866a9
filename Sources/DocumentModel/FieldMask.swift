import CFunctionsSystem

/// Fields by their paths, as a tree: what a mask or a projection leaves of a document. Applying it costs no more than
/// reading the document does, however many paths there are.
public struct FieldMask: Sendable {
    private struct Node: Sendable {
        /// Whether the field counts with all that is in it.
        var isWhole = false
        /// Fields of a map.
        var parts: [String: Node] = [:]

        mutating func insert(_ segments: ArraySlice<String>) {
            guard !isWhole else { return }
            guard let name = segments.first else {
                isWhole = true
                return parts = [:]
            }
            parts[name, default: Node()].insert(segments.dropFirst())
        }

        func apply(to fields: [String: Value]) -> [String: Value] {
            var left: [String: Value] = [:]
            if parts.count <= fields.count {
                for (name, node) in parts {
                    if let value = fields[name].flatMap({ node.apply(to: $0) }) { left[name] = value }
                }
            } else {
                for (name, value) in fields {
                    if let value = parts[name].flatMap({ $0.apply(to: value) }) { left[name] = value }
                }
            }
            return left
        }

        private func apply(to value: Value) -> Value? {
            if isWhole { return value }
            guard case .map(let fields) = value else { return nil }
            let left = apply(to: fields)
            return left.isEmpty ? nil : .map(left)
        }
    }

    private var root = Node()

    /// A mask of no fields.
    public init() {}

    public init(_ paths: some Sequence<FieldPath>) {
        for path in paths { insert(path) }
    }

    public mutating func insert(_ path: FieldPath) {
        functions_step()
        // No document has a field that is deeper.
        guard path.segments.count <= DocumentLimits.maxDepth + 1 else { return }
        root.insert(path.segments[...])
    }

    /// The fields that have a path.
    public func applied(to fields: [String: Value]) -> [String: Value] { root.apply(to: fields) }
}
