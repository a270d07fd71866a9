package import RealtimeModel

/// Computes a node's hash from rows that have paths, in the order of paths.
package struct RealtimeRowHasher: RealtimeRowReceiver {
    private var hasher: RealtimeHasher
    /// The keys of the objects that are open below the root.
    private var open: [RealtimeKey] = []
    private var isRootOpen = false
    /// The priorities of objects above the next leaf.
    private var priorities: [(path: RealtimePath, priority: RealtimePriority)] = []

    /// - Parameter isExact: as of ``RealtimeHasher``.
    package init(isExact: Bool = false) { hasher = RealtimeHasher(isExact: isExact) }

    /// As of ``RealtimeHasher``.
    package var hasLargeNumbers: Bool { hasher.hasLargeNumbers }

    /// Adds an object's priority. The first leaf below the object follows; only other objects' priorities may be between.
    package mutating func priority(_ priority: RealtimePriority, at path: RealtimePath) {
        priorities.append((path, priority))
    }

    /// Adds a leaf.
    ///
    /// - Parameter path: from the node that is hashed.
    package mutating func leaf(_ leaf: RealtimeLeaf, priority: RealtimePriority?, at path: RealtimePath) {
        guard let key = path.keys.last else { return hasher.leaf(leaf, priority: priority, key: nil) }
        if !isRootOpen {
            hasher.openObject(priority: pendingPriority(at: []), key: nil)
            isRootOpen = true
        }
        let parents = path.keys.dropLast()
        let shared = open.sharedCount(with: parents)
        while open.count > shared { close() }
        for key in parents.dropFirst(shared) {
            open.append(key)
            hasher.openObject(priority: pendingPriority(at: open), key: key)
        }
        priorities.removeAll()
        hasher.leaf(leaf, priority: priority, key: key)
    }

    /// The hash of all that was added; empty if that is nothing.
    package mutating func finalize() -> String {
        while !open.isEmpty { close() }
        if isRootOpen { hasher.closeObject() }
        isRootOpen = false
        return hasher.finalize()
    }

    private mutating func close() {
        open.removeLast()
        hasher.closeObject()
    }

    private func pendingPriority(at keys: some Collection<RealtimeKey>) -> RealtimePriority? {
        priorities.last { $0.path.keys.elementsEqual(keys) }?.priority
    }
}
