/// Which children of a node a client asks for, and in which order they count.
package struct RealtimeQuery: Hashable, Sendable {
    /// What children are ordered by.
    package enum Index: Hashable, Sendable {
        case key
        case value
        case priority
        /// The value at a path below each child, which isn't the root.
        case child(RealtimePath)
    }

    /// One end of a range.
    package struct Bound: Hashable, Sendable {
        /// Nil stands for null. For an index of keys it is not used.
        package var value: RealtimeLeaf?
        package var key: BoundKey
        package var isInclusive: Bool

        package init(value: RealtimeLeaf?, key: BoundKey, isInclusive: Bool) {
            self.value = value
            self.key = key
            self.isInclusive = isInclusive
        }
    }

    /// The key of a bound, which orders children of equal values.
    package enum BoundKey: Hashable, Sendable {
        /// Before all keys: `[MIN_NAME]`, or none at a start.
        case minimum
        /// It may be longer than children's keys, and contain other characters: mobile clients write the keys that follow
        /// the longest ones, up to 786 characters.
        case key(RealtimeKey)
        /// After all keys: `[MAX_NAME]`, for Android and Java `[MAX_KEY]`, or none at an end.
        case maximum
    }

    package enum Limit: Hashable, Sendable {
        case first(Int)
        case last(Int)
    }

    package var index: Index
    package var start: Bound?
    package var end: Bound?
    package var limit: Limit?

    package init(index: Index = .priority, start: Bound? = nil, end: Bound? = nil, limit: Limit? = nil) {
        self.index = index
        self.start = start
        self.end = end
        self.limit = limit
    }

    /// Whether it asks for all children: it is only an order then.
    package var loadsAll: Bool { !hasRange && limit == nil }

    package var hasRange: Bool { start != nil || end != nil }

    /// Whether it is the query of a listen without one.
    package var isDefault: Bool { loadsAll && index == .priority }
}

extension RealtimeQuery.Index {
    /// The index as the wire and rules have it: `.key`, `.value`, `.priority`, or a path.
    package var name: String {
        switch self {
        case .key: ".key"
        case .value: ".value"
        case .priority: ".priority"
        case .child(let path): path.string
        }
    }

    /// What a child is ordered by.
    package func value(of child: RealtimeNode) -> RealtimeIndexValue {
        switch self {
        case .key: .null
        case .value: RealtimeIndexValue(child)
        case .priority: RealtimeIndexValue(child.priority?.leaf)
        case .child(let path): RealtimeIndexValue(child[path])
        }
    }
}

extension RealtimeQuery.BoundKey {
    static let minimumName = "[MIN_NAME]"
    static let maximumName = "[MAX_NAME]"
    private static let javaMaximumName = "[MAX_KEY]"

    /// The key of a name in a message.
    init(_ name: String) {
        switch name {
        case Self.minimumName: self = .minimum
        case Self.maximumName, Self.javaMaximumName: self = .maximum
        default: self = .key(RealtimeKey(unchecked: name))
        }
    }

    /// The name in a message.
    var name: String {
        switch self {
        case .minimum: Self.minimumName
        case .key(let key): key.string
        case .maximum: Self.maximumName
        }
    }

    /// - Returns: A negative number, 0 or a positive number if the bound's key sorts before, with or after the key.
    func compare(to key: RealtimeKey) -> Int {
        switch self {
        case .minimum: -1
        case .key(let bound): RealtimeKey.compare(bound, key)
        case .maximum: 1
        }
    }
}
