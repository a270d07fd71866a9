/// A write before the server computes its server values.
package enum RealtimeWrite: Sendable {
    /// Replaces what exists at a target. With a hash, it does so only if that is the hash of what exists.
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

    /// The write's changes, with its server values computed. A hash is not compared here.
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
            return RealtimeChange(target, node)
        }
        switch self {
        case .set(let target, let value, _): return [try change(target, value)]
        case .update(let update):
            var changes: [RealtimeChange] = []
            changes.reserveCapacity(update.entries.count)
            for entry in update.entries { changes.append(try change(entry.target, entry.value)) }
            return changes
        }
    }
}
