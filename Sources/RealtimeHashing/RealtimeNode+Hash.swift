package import RealtimeModel

extension RealtimeNode {
    /// The hash with which clients ask whether they have the current data: of a listen, and of a transaction.
    package var hash: String {
        var hasher = RealtimeHasher()
        add(to: &hasher, key: nil)
        return hasher.finalize()
    }

    private func add(to hasher: inout RealtimeHasher, key: RealtimeKey?) {
        if let leaf { return hasher.leaf(leaf, priority: priority, key: key) }
        hasher.openObject(priority: priority, key: key)
        for child in children { child.node.add(to: &hasher, key: child.key) }
        hasher.closeObject()
    }
}

extension RealtimeNode? {
    /// The node's hash; empty for nothing.
    package var hash: String { self?.hash ?? "" }
}
