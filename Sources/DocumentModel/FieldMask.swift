import CFunctionsSystem

/// Fields by their paths, as a tree: what a mask or a projection leaves of a document. Applying it costs no more than
/// reading the document does, however many paths there are.
public struct FieldMask: Sendable {
    private enum Node: Sendable {
        /// The field with all that is in it.
        case whole
        /// Fields of a map.
        case parts([String: Node])
    }

    private var root: [String: Node] = [:]

    public init(_ paths: some Sequence<FieldPath>) {
        // No document has a field that is deeper.
        for path in paths where path.segments.count <= DocumentLimits.maxDepth + 1 {
            functions_step()
            Self.insert(path.segments[...], into: &root)
        }
    }

    private static func insert(_ segments: ArraySlice<String>, into nodes: inout [String: Node]) {
        guard let name = segments.first else { return }
        let rest = segments.dropFirst()
        guard !rest.isEmpty else { return nodes[name] = .whole }
        // Removed first, so that the parts aren't copied.
        switch nodes.removeValue(forKey: name) {
        case .whole: nodes[name] = .whole
        case .parts(var parts):
            insert(rest, into: &parts)
            nodes[name] = .parts(parts)
        case nil:
            var parts: [String: Node] = [:]
            insert(rest, into: &parts)
            nodes[name] = .parts(parts)
        }
    }

    /// The fields that have a path.
    public func applied(to fields: [String: Value]) -> [String: Value] { Self.apply(root, to: fields) }

    private static func apply(_ nodes: [String: Node], to fields: [String: Value]) -> [String: Value] {
        var left: [String: Value] = [:]
        if nodes.count <= fields.count {
            for (name, node) in nodes {
                if let value = fields[name].flatMap({ apply(node, to: $0) }) { left[name] = value }
            }
        } else {
            for (name, value) in fields {
                if let value = nodes[name].flatMap({ apply($0, to: value) }) { left[name] = value }
            }
        }
        return left
    }

    private static func apply(_ node: Node, to value: Value) -> Value? {
        switch (node, value) {
        case (.whole, _): return value
        case (.parts(let parts), .map(let fields)):
            let left = apply(parts, to: fields)
            return left.isEmpty ? nil : .map(left)
        case (.parts, _): return nil
        }
    }
}
