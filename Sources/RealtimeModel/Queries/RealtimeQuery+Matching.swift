extension RealtimeQuery {
    /// Whether a child is within the range. The limit may exclude it nevertheless.
    package func includes(_ entry: RealtimeIndexEntry) -> Bool {
        if let start {
            let order = compare(start, to: entry)
            guard order < 0 || start.isInclusive && order == 0 else { return false }
        }
        if let end {
            let order = compare(end, to: entry)
            guard order > 0 || end.isInclusive && order == 0 else { return false }
        }
        return true
    }

    /// The place of a child in the query's order.
    package func entry(of child: RealtimeNode, key: RealtimeKey) -> RealtimeIndexEntry {
        RealtimeIndexEntry(value: index.value(of: child), key: key)
    }

    private func compare(_ bound: Bound, to entry: RealtimeIndexEntry) -> Int {
        let order = index == .key ? 0 : RealtimeIndexValue.compare(RealtimeIndexValue(bound.value), entry.value)
        return order == 0 ? bound.key.compare(to: entry.key) : order
    }
}

extension RealtimeNode {
    /// The node with the children that a query asks for, and without its priority; nil if there are none.
    ///
    /// Clients expect so: a range or a limit leaves out the node's own priority, and of a leaf everything. A query that
    /// loads all leaves the node as it is.
    package func matching(_ query: RealtimeQuery) -> RealtimeNode? {
        guard !query.loadsAll else { return self }
        let children =
            query.index == .key ? keyed(query) : query.limit == nil ? ranged(query) : limited(query)
        return RealtimeNode(RealtimeChildren(sorted: children))
    }

    private func ranged(_ query: RealtimeQuery) -> [RealtimeChildren.Child] {
        children.filter { query.includes(query.entry(of: $0.node, key: $0.key)) }
    }

    private func limited(_ query: RealtimeQuery) -> [RealtimeChildren.Child] {
        var found: [(entry: RealtimeIndexEntry, node: RealtimeNode)] = []
        for child in children {
            let entry = query.entry(of: child.node, key: child.key)
            if query.includes(entry) { found.append((entry, child.node)) }
        }
        found.sort { $0.entry < $1.entry }
        let kept =
            switch query.limit {
            case .first(let count)?: found.prefix(count)
            case .last(let count)?: found.suffix(count)
            case nil: found[...]
            }
        return kept.map { ($0.entry.key, $0.node) }.sorted { $0.key < $1.key }
    }

    /// The children in a range of keys. It doesn't look at those beyond the limit.
    private func keyed(_ query: RealtimeQuery) -> [RealtimeChildren.Child] {
        func isIncluded(_ child: RealtimeChildren.Child) -> Bool {
            query.includes(RealtimeIndexEntry(value: .null, key: child.key))
        }
        switch query.limit {
        case .first(let count)?: return Array(children.lazy.filter(isIncluded).prefix(count))
        case .last(let count)?: return Array(children.reversedByKey.lazy.filter(isIncluded).prefix(count)).reversed()
        case nil: return children.filter(isIncluded)
        }
    }
}
