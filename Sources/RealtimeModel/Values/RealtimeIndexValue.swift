/// What a query orders a child by: its value, its priority, or the value below it.
package enum RealtimeIndexValue: Hashable, Sendable {
    /// There is no such value.
    case null
    case leaf(RealtimeLeaf)
    /// An object. All of them sort together.
    case object

    package init(_ node: RealtimeNode?) {
        guard let node else {
            self = .null
            return
        }
        self = node.leaf.map { .leaf($0) } ?? .object
    }

    package init(_ leaf: RealtimeLeaf?) { self = leaf.map { .leaf($0) } ?? .null }
}

extension RealtimeIndexValue: Comparable {
    /// Null, false, true, numbers, strings, objects.
    package static func < (a: RealtimeIndexValue, b: RealtimeIndexValue) -> Bool { compare(a, b) < 0 }

    /// - Returns: A negative number, 0 or a positive number if `a` sorts before, with or after `b`.
    static func compare(_ a: RealtimeIndexValue, _ b: RealtimeIndexValue) -> Int {
        switch (a, b) {
        case (.leaf(let a), .leaf(let b)): RealtimeLeaf.compare(a, b)
        default: a.rank - b.rank
        }
    }

    private var rank: Int {
        switch self {
        case .null: 0
        case .leaf: 1
        case .object: 2
        }
    }
}

/// The place of a child in a query's order: its index value, then its key.
package struct RealtimeIndexEntry: Hashable, Sendable, Comparable {
    package var value: RealtimeIndexValue
    package var key: RealtimeKey

    package init(value: RealtimeIndexValue, key: RealtimeKey) {
        self.value = value
        self.key = key
    }

    package static func < (a: RealtimeIndexEntry, b: RealtimeIndexEntry) -> Bool {
        let order = RealtimeIndexValue.compare(a.value, b.value)
        return order == 0 ? a.key < b.key : order < 0
    }
}
