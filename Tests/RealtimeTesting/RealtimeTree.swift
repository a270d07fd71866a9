import RealtimeHashing
package import RealtimeModel

/// A database in memory, beside which the store is tested. Copies share what they have in common.
package struct RealtimeTree: Equatable, Sendable {
    /// Nil if the database is empty.
    package var root: RealtimeNode?

    package init(_ root: RealtimeNode? = nil) { self.root = root }

    package subscript(path: RealtimePath) -> RealtimeNode? { root?[path] }

    /// What exists at a target; for a priority, the leaf of its value.
    package subscript(target: RealtimeTarget) -> RealtimeNode? { root.node(at: target) }

    /// Applies a write.
    ///
    /// - Parameter now: the commit's milliseconds since 1970.
    /// - Returns: The changes with their server values computed; nil if the write's hash isn't that of what exists, which
    ///   leaves the tree as it is.
    @discardableResult
    package mutating func apply(_ write: RealtimeWrite, now: Int64) -> [RealtimeChange]? {
        if case .set(let target, _, let hash?) = write, self[target].hash != hash { return nil }
        let changes = write.resolved(now: now) { self[$0]?.leaf }
        for change in changes { apply(change) }
        return changes
    }

    package mutating func apply(_ change: RealtimeChange) { root.set(change.node, at: change.target) }
}
