extension RealtimeNode? {
    /// Replaces what exists at a path.
    ///
    /// Nil removes it, and each object above that has no other child. A value below a leaf makes the leaf an object, which
    /// keeps the leaf's priority; nil below a leaf changes nothing.
    package mutating func set(_ node: RealtimeNode?, at path: RealtimePath) {
        set(node, at: path.keys[...])
    }

    /// Replaces what exists at a target; for a priority, `node` is the leaf of its value, or nil.
    package mutating func set(_ node: RealtimeNode?, at target: RealtimeTarget) {
        guard target.isPriority else { return set(node, at: target.path) }
        guard var changed = self?[target.path] else { return }
        changed.priority = node?.leaf.flatMap { RealtimePriority($0) }
        set(changed, at: target.path)
    }

    /// What exists at a target; for a priority, the leaf of its value.
    package func node(at target: RealtimeTarget) -> RealtimeNode? {
        guard let node = self?[target.path] else { return nil }
        return target.isPriority ? node.priority.map { RealtimeNode($0.leaf) } : node
    }

    private mutating func set(_ node: RealtimeNode?, at keys: ArraySlice<RealtimeKey>) {
        guard let key = keys.first else {
            self = node
            return
        }
        let rest = keys.dropFirst()
        guard case .object(var object)? = self?.storage else {
            guard let child = RealtimeNode.nesting(node, in: rest) else { return }
            self = RealtimeNode(RealtimeChildren(sorted: [(key, child)]), priority: self?.priority)
            return
        }
        if node == nil, object.children[key] == nil { return }
        // Without this reference the object may be unshared, and is changed in place.
        self = nil
        if !isKnownUniquelyReferenced(&object) { object = RealtimeNode.Object(object.children, object.priority) }
        object.children.update(key) { $0.set(node, at: rest) }
        self = object.children.isEmpty ? nil : RealtimeNode(object)
    }
}

extension RealtimeNode {
    /// The node as the only descendant of new objects, the last of which has it under the last key.
    static func nesting(_ node: RealtimeNode?, in keys: some BidirectionalCollection<RealtimeKey>) -> RealtimeNode? {
        guard var nested = node else { return nil }
        for key in keys.reversed() {
            nested = RealtimeNode(Object(RealtimeChildren(sorted: [(key, nested)]), nil))
        }
        return nested
    }
}
