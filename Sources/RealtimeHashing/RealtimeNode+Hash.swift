package import RealtimeModel

extension RealtimeNode {
    /// The hash with which clients ask whether they have the current data: of a listen, and of a transaction.
    package var hash: String { hashed(isExact: false).finalize() }

    /// The hash for callers that have read exact integers, which clients' doubles don't tell apart.
    package var exactHash: String { hashed(isExact: true).finalize() }

    /// Whether a hash, exact or a client's, is the node's.
    package func has(_ hash: String) -> Bool {
        let hasher = hashed(isExact: false)
        return hasher.finalize() == hash || (hasher.hasLargeNumbers && exactHash == hash)
    }

    private func hashed(isExact: Bool) -> RealtimeHasher {
        var hasher = RealtimeHasher(isExact: isExact)
        add(to: &hasher, key: nil)
        return hasher
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

    /// The node's exact hash; empty for nothing.
    package var exactHash: String { self?.exactHash ?? "" }

    /// Whether a hash, exact or a client's, is the node's.
    package func has(_ hash: String) -> Bool { self?.has(hash) ?? hash.isEmpty }
}
