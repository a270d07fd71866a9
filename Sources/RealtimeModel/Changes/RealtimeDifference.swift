extension RealtimeNode? {
    /// The changes that make this node the new one, in the order of their targets, none of which contains another.
    ///
    /// An object that keeps none of its keys is one change. So no object is empty in between, in whichever order the
    /// changes are applied, which would cost it its priority.
    ///
    /// What both share in memory isn't looked at: after a change of one leaf the time depends on the depth, and on the
    /// number of siblings on its path only in hundreds.
    package func changes(to new: RealtimeNode?) -> [RealtimeChange] {
        var difference = RealtimeDifference()
        difference.compare(self, new)
        return difference.changes
    }
}

private struct RealtimeDifference {
    var changes: [RealtimeChange] = []
    private var keys: [RealtimeKey] = []

    mutating func compare(_ old: RealtimeNode?, _ new: RealtimeNode?) {
        switch (old, new) {
        case (nil, nil): return
        case (let old?, let new?):
            if old.isIdentical(to: new) { return }
            guard old.leaf == nil, new.leaf == nil else {
                if old != new { add(new) }
                return
            }
            let first = changes.count
            guard compare(old.children, new.children) else {
                changes.removeSubrange(first...)
                return add(new)
            }
            guard old.priority != new.priority else { return }
            let target = RealtimeTarget(RealtimePath(unchecked: keys), isPriority: true)
            let place = changes[first...].firstIndex { target < $0.target } ?? changes.count
            changes.insert(RealtimeChange(target, new.priority.map { RealtimeNode($0.leaf) }), at: place)
        default: add(new)
        }
    }

    /// - Returns: Whether both have a key in common.
    private mutating func compare(_ old: RealtimeChildren, _ new: RealtimeChildren) -> Bool {
        var (a, b) = (Cursor(old), Cursor(new))
        var hasCommonKey = false
        while true {
            if a.skipShared(with: &b) {
                hasCommonKey = true
                continue
            }
            switch (a.child, b.child) {
            case (nil, nil): return hasCommonKey
            case (let child?, nil):
                compare(child.node, nil, at: child.key)
                a.advance()
            case (nil, let child?):
                compare(nil, child.node, at: child.key)
                b.advance()
            case (let first?, let second?):
                let order = RealtimeKey.compare(first.key, second.key)
                if order == 0 { hasCommonKey = true }
                compare(
                    order <= 0 ? first.node : nil, order >= 0 ? second.node : nil,
                    at: order <= 0 ? first.key : second.key)
                if order <= 0 { a.advance() }
                if order >= 0 { b.advance() }
            }
        }
    }

    private mutating func compare(_ old: RealtimeNode?, _ new: RealtimeNode?, at key: RealtimeKey) {
        keys.append(key)
        compare(old, new)
        keys.removeLast()
    }

    private mutating func add(_ node: RealtimeNode?) {
        changes.append(RealtimeChange(RealtimeTarget(RealtimePath(unchecked: keys)), node))
    }
}

extension RealtimeDifference {
    /// A position among an object's children.
    private struct Cursor {
        private let chunks: [[RealtimeChildren.Child]]
        private var chunk = 0
        private var index = 0

        init(_ children: RealtimeChildren) { chunks = children.chunks }

        var child: RealtimeChildren.Child? { chunk < chunks.count ? chunks[chunk][index] : nil }

        mutating func advance() {
            index += 1
            if index == chunks[chunk].count { (chunk, index) = (chunk + 1, 0) }
        }

        /// Skips a chunk that both have, if both stand at its beginning.
        mutating func skipShared(with other: inout Cursor) -> Bool {
            guard index == 0, other.index == 0, chunk < chunks.count, other.chunk < other.chunks.count else {
                return false
            }
            let isShared = chunks[chunk].withUnsafeBufferPointer { a in
                other.chunks[other.chunk].withUnsafeBufferPointer { b in a.baseAddress == b.baseAddress }
            }
            guard isShared else { return false }
            chunk += 1
            other.chunk += 1
            return true
        }
    }
}
