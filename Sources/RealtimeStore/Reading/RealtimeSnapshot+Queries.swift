import DocumentModel
package import RealtimeModel
import StorageEngine

/// The children of a node that match a query.
package struct RealtimeMatches: Sendable {
    /// In the query's order.
    package var entries: [RealtimeIndexEntry]
    /// Whether an index gave the order. If not, all children were looked at.
    package var isIndexed: Bool
    /// The bytes that were loaded to find them.
    var bytes: Int

    /// The keys in the order of keys.
    package var keys: [RealtimeKey] { entries.map(\.key).sorted() }
}

extension RealtimeSnapshot {
    /// Finds the children of a node that match a query, without loading what is below them.
    ///
    /// - Throws: `tooManyNodes` or `tooLarge` if more would be looked at than a query may.
    package func matches(of query: RealtimeQuery, at path: RealtimePath) throws -> RealtimeMatches {
        var bytes = ReadBytes(limits)
        return try matches(of: query, at: path, counting: &bytes)
    }

    /// Finds matches as a part of a read.
    func matches(
        of query: RealtimeQuery, at path: RealtimePath, counting bytes: inout ReadBytes
    ) throws -> RealtimeMatches {
        if let last = lastMatches?.last, last.query == query, last.path == path {
            // The limit doesn't depend on what was read before.
            try bytes.add(last.matches.bytes)
            return last.matches
        }
        let matches = try findMatches(of: query, at: path, &bytes)
        lastMatches?.last = (query, path, matches)
        return matches
    }

    private func findMatches(
        of query: RealtimeQuery, at path: RealtimePath, _ bytes: inout ReadBytes
    ) throws -> RealtimeMatches {
        let parent = TreeKey.of(path)
        var found = RealtimeMatchList(query, maxNodes: limits.maxQueryNodes, counting: bytes)
        var isIndexed = true
        switch query.index {
        case .key: try matchKeys(of: parent, into: &found)
        case .priority: try matchPriorities(of: parent, into: &found)
        case .value, .child:
            if let index = readyIndex(for: query.index, at: path) {
                try matchEntries(of: parent, index: index.number, into: &found)
            } else {
                isIndexed = false
                try matchAll(of: parent, into: &found)
            }
        }
        let before = bytes.count
        bytes = found.bytes
        return RealtimeMatches(entries: found.ordered, isIndexed: isIndexed, bytes: bytes.count - before)
    }

    /// Whether an index orders a node's children as a query does.
    package func isIndexed(_ query: RealtimeQuery, at path: RealtimePath) -> Bool {
        switch query.index {
        case .key, .priority: true
        case .value, .child: readyIndex(for: query.index, at: path) != nil
        }
    }

    private func readyIndex(for index: RealtimeQuery.Index, at path: RealtimePath) -> RealtimeIndex? {
        indexes.first { $0.state == .ready && $0.definition.index == index && $0.definition.covers(path.keys) }
    }

    /// The place of a child in a query's order; nil if it doesn't exist.
    func entry(of key: RealtimeKey, at parent: [UInt8], by index: RealtimeQuery.Index) throws -> RealtimeIndexEntry? {
        var bytes = ReadBytes()
        return try entry(of: key, at: parent, by: index, counting: &bytes)
    }

    /// The place of a child in a query's order, as a part of a read.
    func entry(
        of key: RealtimeKey, at parent: [UInt8], by index: RealtimeQuery.Index, counting bytes: inout ReadBytes
    ) throws -> RealtimeIndexEntry? {
        let child = Self.child(key, of: parent)
        guard try exists(at: child) else { return nil }
        return RealtimeIndexEntry(value: try value(of: child, by: index, &bytes), key: key)
    }

    /// What a child that exists is ordered by.
    private func value(
        of child: [UInt8], by index: RealtimeQuery.Index, _ bytes: inout ReadBytes
    ) throws -> RealtimeIndexValue {
        switch index {
        case .key: return .null
        case .priority: return RealtimeIndexValue(try stored(at: child, counting: &bytes)?.priority?.leaf)
        case .value: return try stored(at: child, counting: &bytes)?.leaf.map { .leaf($0) } ?? .object
        case .child(let path):
            let place = child + TreeKey.of(path)
            if let leaf = try stored(at: place, counting: &bytes)?.leaf { return .leaf(leaf) }
            return try hasChildren(at: place) ? .object : .null
        }
    }

    // MARK: Ways to the matches

    private func matchKeys(of parent: [UInt8], into found: inout RealtimeMatchList) throws {
        let range = found.keyRange(of: parent, from: found.query.start, to: found.query.end)
        try eachChild(of: parent, in: range, reverse: found.isReverse) { child in
            try found.look(at: child.path, of: parent)
            return found.add(RealtimeIndexEntry(value: .null, key: child.key))
        }
    }

    /// The children without a priority are found among all children, and the others by their entries.
    private func matchPriorities(of parent: [UInt8], into found: inout RealtimeMatchList) throws {
        func matchOthers() throws {
            guard !found.isComplete, found.query.start?.value == nil else { return }
            let end = found.query.end.flatMap { $0.value == nil ? $0 : nil }
            let range = found.keyRange(of: parent, from: found.query.start, to: end)
            // Backwards, a child's own row is the last one.
            try eachChild(of: parent, in: range, reverse: found.isReverse, withRows: !found.isReverse) { child in
                try found.look(at: child.path, of: parent, child.row)
                let node =
                    found.isReverse
                    ? try stored(at: Array(child.path), counting: &found.bytes) : try child.stored()
                guard node?.priority == nil else { return true }
                return found.add(RealtimeIndexEntry(value: .null, key: child.key))
            }
        }
        if !found.isReverse { try matchOthers() }
        // An end of null leaves out all priorities.
        if !found.isComplete, found.query.end.map({ $0.value != nil }) ?? true {
            try matchEntries(of: parent, index: IndexEntryKey.priorities, into: &found)
        }
        if found.isReverse { try matchOthers() }
    }

    private func matchEntries(of parent: [UInt8], index: UInt32, into found: inout RealtimeMatchList) throws {
        let prefix = IndexEntryKey.prefix(of: parent, index: index)
        // Values of which only the beginning is known, and which have it in common.
        var cut: (bytes: ArraySlice<UInt8>, entries: [RealtimeIndexEntry])?
        func takeCut() -> Bool {
            guard let group = cut else { return true }
            cut = nil
            for entry in found.isReverse ? group.entries.sorted(by: >) : group.entries.sorted() {
                guard found.add(entry) else { return false }
            }
            return true
        }
        try rows.scanPaths(found.entryRange(prefix), reverse: found.isReverse) { path in
            try found.look(at: path, of: parent)
            let (value, key) = try IndexEntryKey.read(path.dropFirst(prefix.count))
            if let value {
                guard takeCut() else { return false }
                return found.add(RealtimeIndexEntry(value: value, key: key))
            }
            let beginning = path.dropFirst(prefix.count).prefix(IndexValueKey.maxTextBytes)
            if cut?.bytes != beginning {
                guard takeCut() else { return false }
                cut = (beginning, [])
            }
            let whole = try self.value(of: Self.child(key, of: parent), by: found.query.index, &found.bytes)
            cut?.entries.append(RealtimeIndexEntry(value: whole, key: key))
            return true
        }
        _ = takeCut()
    }

    /// Looks at all children.
    private func matchAll(of parent: [UInt8], into found: inout RealtimeMatchList) throws {
        let index = found.query.index
        found.isOrdered = false
        try eachChild(of: parent, in: TreeKey.children(of: parent), withRows: index == .value) { child in
            try found.look(at: child.path, of: parent, child.row)
            let value =
                if index == .value {
                    try child.stored()?.leaf.map { RealtimeIndexValue.leaf($0) } ?? .object
                } else {
                    try value(of: Array(child.path), by: index, &found.bytes)
                }
            return found.add(RealtimeIndexEntry(value: value, key: child.key))
        }
    }
}
