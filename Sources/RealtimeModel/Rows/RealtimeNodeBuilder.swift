/// Builds a node from its rows.
package struct RealtimeNodeBuilder: RealtimeRowReceiver {
    private struct Object {
        var key: RealtimeKey?
        var children: [RealtimeChildren.Child] = []
        var priority: RealtimePriority?
    }

    /// The objects around the last row, from the root.
    private var open: [Object] = []
    private var root: RealtimeNode?
    /// Whether there was a priority of an object without children, which doesn't exist.
    package private(set) var hasDroppedPriority = false

    package init() {}

    package mutating func priority(_ priority: RealtimePriority, at path: RealtimePath) {
        openObject(at: path.keys[...])
        open[open.count - 1].priority = priority
    }

    package mutating func leaf(_ leaf: RealtimeLeaf, priority: RealtimePriority?, at path: RealtimePath) {
        let node = RealtimeNode(leaf, priority: priority)
        guard let key = path.keys.last else {
            root = node
            return
        }
        openObject(at: path.keys.dropLast())
        open[open.count - 1].children.append((key, node))
    }

    /// The node of all rows; nil if there were no leaves.
    package mutating func finalize() -> RealtimeNode? {
        while !open.isEmpty { close() }
        defer { root = nil }
        return root
    }

    private mutating func openObject(at keys: ArraySlice<RealtimeKey>) {
        if open.isEmpty { open.append(Object()) }
        let shared = zip(open.dropFirst(), keys).prefix { $0.key == $1 }.count
        while open.count > shared + 1 { close() }
        for key in keys.dropFirst(shared) { open.append(Object(key: key)) }
    }

    private mutating func close() {
        let object = open.removeLast()
        guard let node = RealtimeNode(RealtimeChildren(sorted: object.children), priority: object.priority) else {
            if object.priority != nil { hasDroppedPriority = true }
            return
        }
        if let key = object.key { open[open.count - 1].children.append((key, node)) } else { root = node }
    }
}
