/// A place in a database: the keys from the root, at most 32.
package struct RealtimePath: Hashable, Sendable {
    package let keys: [RealtimeKey]

    package static let root = RealtimePath(unchecked: [])

    /// - Precondition: there are at most 32 keys.
    package init(unchecked keys: [RealtimeKey]) { self.keys = keys }

    /// Reads a path as clients write it in messages: not encoded, and with slashes that may be missing or repeated.
    ///
    /// - Throws: `invalidPath` with the text, or `tooDeep`.
    package init(_ text: some StringProtocol) throws(RealtimeError) {
        self.init(unchecked: try RealtimeTarget.keys(of: text, isEncoded: false, allowsPriority: false).keys)
    }

    /// Reads a URL's path without its `.json`: each segment is percent-encoded.
    ///
    /// - Throws: `invalidPath` with the text, or `tooDeep`.
    package init(percentEncoded text: some StringProtocol) throws(RealtimeError) {
        self.init(unchecked: try RealtimeTarget.keys(of: text, isEncoded: true, allowsPriority: false).keys)
    }

    package var isRoot: Bool { keys.isEmpty }
    package var depth: Int { keys.count }

    /// The path without its last key; nil for the root.
    package var parent: RealtimePath? { isRoot ? nil : RealtimePath(unchecked: Array(keys.dropLast())) }

    /// The place of a child. The caller keeps within the limit on depth, which reading a value or a path checks.
    package func child(_ key: RealtimeKey) -> RealtimePath { RealtimePath(unchecked: keys + [key]) }

    /// The place that a path from here leads to.
    ///
    /// - Throws: `tooDeep`.
    package func appending(_ path: RealtimePath) throws(RealtimeError) -> RealtimePath {
        guard depth + path.depth <= RealtimeLimits.maxDepth else { throw RealtimeError(.tooDeep, at: self) }
        return RealtimePath(unchecked: keys + path.keys)
    }

    /// Whether the other path is this one or below it.
    package func contains(_ other: RealtimePath) -> Bool { other.keys.starts(with: keys) }

    /// Whether the other path is below this one.
    package func isAncestor(of other: RealtimePath) -> Bool { depth < other.depth && contains(other) }

    /// The path from an ancestor to here; nil if the other path doesn't contain this one.
    package func relative(to ancestor: RealtimePath) -> RealtimePath? {
        guard ancestor.contains(self) else { return nil }
        return RealtimePath(unchecked: Array(keys.dropFirst(ancestor.depth)))
    }

    /// The deepest path that contains both.
    package func commonAncestor(with other: RealtimePath) -> RealtimePath {
        RealtimePath(unchecked: Array(keys.prefix(keys.sharedCount(with: other.keys[...]))))
    }

    /// The keys joined by slashes, without one at either end; empty for the root.
    package var string: String { keys.map(\.string).joined(separator: "/") }
}

extension [RealtimeKey] {
    /// How many keys both begin with.
    package func sharedCount(with other: ArraySlice<RealtimeKey>) -> Int {
        var count = 0
        for (own, key) in zip(self, other) {
            guard own == key else { break }
            count += 1
        }
        return count
    }
}

extension RealtimePath: Comparable {
    /// The order in which a tree is walked: a parent, then its children by key.
    package static func < (a: RealtimePath, b: RealtimePath) -> Bool {
        for (a, b) in zip(a.keys, b.keys) {
            let order = RealtimeKey.compare(a, b)
            if order != 0 { return order < 0 }
        }
        return a.depth < b.depth
    }
}

extension RealtimePath: CustomStringConvertible {
    package var description: String { "/" + string }
}
