import RealtimeModel
import StorageEngine

/// Collects the children that match a query, and knows when there are enough. The bytes of all that is looked at are
/// counted: values of children may be long.
struct RealtimeMatchList {
    let query: RealtimeQuery
    /// Whether children come from the last to the first.
    let isReverse: Bool
    /// Whether children come in the query's order. If not, all in the range are looked at, and the limit's kept.
    var isOrdered = true
    private let limit: Int
    private var entries: [RealtimeIndexEntry] = []
    private var looked = 0
    private let maxNodes: Int
    /// What the read has loaded.
    var bytes: ReadBytes

    /// - Parameters:
    ///   - maxNodes: how many children may be looked at.
    ///   - bytes: what the read has loaded before.
    init(_ query: RealtimeQuery, maxNodes: Int, counting bytes: ReadBytes) {
        self.query = query
        self.maxNodes = maxNodes
        self.bytes = bytes
        switch query.limit {
        case .first(let count)?: (isReverse, limit) = (false, count)
        case .last(let count)?: (isReverse, limit) = (true, count)
        case nil: (isReverse, limit) = (false, .max)
        }
    }

    var isComplete: Bool { isOrdered && entries.count >= limit }

    /// Called for each child that is looked at, with what was loaded of it.
    ///
    /// - Throws: `tooManyNodes` or `tooLarge`.
    mutating func look(at path: ArraySlice<UInt8>, of parent: [UInt8], _ row: [UInt8]? = nil) throws(RealtimeFailure) {
        looked += 1
        try bytes.add(path.count - parent.count + (row?.count ?? 0))
        guard looked > maxNodes else { return }
        throw RealtimeFailure(
            .tooManyNodes,
            "the query would look at more than \(maxNodes) nodes, the limit; if it has no index, add \".indexOn\": "
                + "\"\(query.index.name)\" to the rules of the node, else a limit to the query")
    }

    /// - Returns: whether more are wanted.
    mutating func add(_ entry: RealtimeIndexEntry) -> Bool {
        guard query.includes(entry) else { return !isComplete }
        entries.append(entry)
        // Sorted rarely, so that the cost of a child doesn't depend on the limit.
        if !isOrdered, entries.count / 2 > limit { entries = ordered }
        return !isComplete
    }

    /// The matches in the query's order.
    var ordered: [RealtimeIndexEntry] {
        if isOrdered { return isReverse ? entries.reversed() : entries }
        let sorted = entries.sorted()
        return isReverse ? sorted.suffix(limit) : Array(sorted.prefix(limit))
    }

    // MARK: Where matches can be

    /// The children of a node from one bound's key to another's. Some may still be outside of the range.
    func keyRange(of parent: [UInt8], from start: RealtimeQuery.Bound?, to end: RealtimeQuery.Bound?) -> KeyRange {
        var range = TreeKey.children(of: parent)
        switch start?.key {
        case nil, .minimum?: break
        case .key(let key)?: range.lower = RealtimeSnapshot.child(key, of: parent)
        case .maximum?: range.upper = range.lower
        }
        switch end?.key {
        case nil, .maximum?: break
        case .key(let key)?: range.upper = KeyBytes.successor(ofPrefix: RealtimeSnapshot.child(key, of: parent))
        case .minimum?: range.upper = range.lower
        }
        return range
    }

    /// The entries of an index from the start's value and key to the end's. Some may still be outside of the range.
    func entryRange(_ prefix: [UInt8]) -> KeyRange {
        var range = KeyRange(prefix: prefix)
        if let start = query.start {
            var lower = prefix
            let isCut = IndexValueKey.append(RealtimeIndexValue(start.value), to: &lower)
            switch start.key {
            case .key(let key) where !isCut: TreeKey.append(key, to: &lower)
            case .maximum where !isCut: lower = KeyBytes.successor(ofPrefix: lower) ?? lower
            default: break
            }
            range.lower = lower
        }
        if let end = query.end {
            var upper = prefix
            let isCut = IndexValueKey.append(RealtimeIndexValue(end.value), to: &upper)
            switch end.key {
            case .key(let key) where !isCut:
                TreeKey.append(key, to: &upper)
                range.upper = KeyBytes.successor(ofPrefix: upper)
            case .minimum where !isCut: range.upper = upper
            default: range.upper = KeyBytes.successor(ofPrefix: upper)
            }
        }
        return range
    }
}

/// The matches of one query in a state that doesn't change. Used by one thread at a time.
final class LastMatches {
    var last: (query: RealtimeQuery, path: RealtimePath, matches: RealtimeMatches)?

    init() {}
}
