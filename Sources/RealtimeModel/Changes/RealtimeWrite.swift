/// A write before the server computes its server values.
package enum RealtimeWrite: Sendable {
    /// Replaces what exists at a target. With a hash, exact or a client's, it does so only if that is the
    /// hash of what exists.
    case set(RealtimeTarget, RealtimeWriteValue, ifHash: String? = nil)
    /// Replaces what exists at several targets, all or none.
    case update(RealtimeUpdate)

    /// What the write addresses.
    package var targets: [RealtimeTarget] {
        switch self {
        case .set(let target, _, _): [target]
        case .update(let update): update.entries.map(\.target)
        }
    }

    /// Whether it sets a leaf that takes next to no time to look at, or nothing.
    package var setsShortLeaf: Bool { if case .set(_, let value, _) = self { value.isShortLeaf } else { false } }

    /// Whether it is written only if what exists has a given hash.
    package var isConditional: Bool {
        if case .set(_, _, _?) = self { true } else { false }
    }

    /// The staged value that it sets; nil if it sets none.
    package var staged: StagedValue? {
        if case .set(_, let value, _) = self { value.staged } else { nil }
    }

    /// How many nodes the write's text had, about.
    package var nodeCount: Int {
        switch self {
        case .set(_, let value, _): value.nodeCount
        case .update(let update): update.entries.reduce(0) { $0 + $1.value.nodeCount }
        }
    }

    /// The increments among the write's server values need what exists.
    package var hasIncrements: Bool {
        func has(_ value: RealtimeWriteValue) -> Bool {
            value.serverValues.contains { if case .increment = $0.value { true } else { false } }
        }
        return switch self {
        case .set(_, let value, _): has(value)
        case .update(let update): update.entries.contains { has($0.value) }
        }
    }

    /// The write's changes, with its server values computed, in the order in which they are applied. A hash is not compared
    /// here.
    ///
    /// An update's priorities come after its values: an object that it makes has none before.
    ///
    /// - Parameters:
    ///   - now: the commit's milliseconds since 1970.
    ///   - existing: returns the leaf at a target, from the root, before the write. Only increments ask for it.
    package func resolved<Failure: Error>(
        now: Int64, existing: (RealtimeTarget) throws(Failure) -> RealtimeLeaf?
    ) throws(Failure) -> [RealtimeChange] {
        func change(_ target: RealtimeTarget, _ value: RealtimeWriteValue) throws(Failure) -> RealtimeChange {
            let node = try value.resolved(now: now) { (relative) throws(Failure) in
                try existing(target.appending(relative))
            }
            return RealtimeChange(target, node, staged: value.staged)
        }
        switch self {
        case .set(let target, let value, _): return [try change(target, value)]
        case .update(let update):
            var changes: [RealtimeChange] = []
            changes.reserveCapacity(update.entries.count)
            for isPriority in [false, true] {
                for entry in update.entries where entry.target.isPriority == isPriority {
                    changes.append(try change(entry.target, entry.value))
                }
            }
            return changes
        }
    }
}
