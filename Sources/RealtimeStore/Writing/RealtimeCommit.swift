package import RealtimeModel

/// Writes of one namespace that are one commit: all of them are kept, or none.
package struct RealtimeCommit: Sendable {
    package var namespace: String
    /// In their order, each seeing what the ones before have changed.
    package var writes: [RealtimeWrite]
    /// What the writes depend on. If any of it has changed, the commit is refused as stale.
    package var expectations: [RealtimeExpectation] = []
    /// Called with the path of an expectation for which the commit is refused, by the writer's thread.
    package var onStale: @Sendable (RealtimePath) -> Void = { _ in }
    /// Decides whether they are allowed; nil for an admin.
    package var check: RealtimeCheck?
    /// Whether the check takes next to no time: then the writer makes it, and no reader has to make it before.
    package var isCheckQuick = false
    /// What the check has cost when it was made last, in units of about 50 ns. If that is more than it may cost the
    /// writer, the writer doesn't begin.
    package var checkCost: @Sendable () -> Int = { 0 }
    /// Changes when the check would decide otherwise of the same states, such as with other rules: what was decided before
    /// is decided again.
    package var checkGeneration: @Sendable () -> UInt64 = { 0 }
    /// Asked once the commit is durable. If it returns true, the writer's thread may call the completion at once: the
    /// caller has no listeners that its effects must reach before, and the completion takes next to no time.
    package var isAnsweredAtOnce: @Sendable () -> Bool = { false }
    /// The client, if it retries conditional writes that are stale. So that it succeeds although many write the same
    /// path, its answer may wait for its turn: see `StaleTurns`.
    package var client: RetryingClient?
    /// How many rows it may change; nil for no bound. A subtree that is deleted counts little.
    package var maxRows: Int?
    /// What its events may be.
    package var triggerLimits = TriggerLimits.strict
    /// A registration that the commit removes, whether its writes are allowed or not.
    var registration: DisconnectKey?

    package init(_ writes: [RealtimeWrite], in namespace: String, check: RealtimeCheck? = nil) {
        self.namespace = namespace
        self.writes = writes
        self.check = check
    }
}

/// A read, and the exact hash of what it has found.
package struct RealtimeExpectation: Sendable {
    package var path: RealtimePath
    package var query: RealtimeQuery?
    package var hash: String
    /// The version of the state that was read.
    package var version: Int64

    package init(_ path: RealtimePath, matching query: RealtimeQuery? = nil, hash: String, version: Int64) {
        self.path = path
        self.query = query
        self.hash = hash
        self.version = version
    }
}

extension RealtimeCommit {
    /// Whether a reader decides on it before the writer does.
    var isDecidedEarly: Bool { (check != nil && !isCheckQuick) || conditionalTarget != nil }

    /// Whether what it writes is soon looked at.
    var isSmall: Bool { writes.allSatisfy { $0.staged == nil } && writes.reduce(0) { $0 + $1.nodeCount } <= 1_000 }

    /// What is written if it has a given hash; nil if the commit has no condition.
    var conditionalTarget: RealtimeTarget? {
        for case .set(let target, _, _?) in writes { return target }
        return nil
    }

    /// The condition of a commit that is one conditional write of a node.
    var onlyCondition: (target: RealtimeTarget, hash: String)? {
        guard writes.count == 1, case .set(let target, _, let hash?) = writes[0], !target.isPriority else { return nil }
        return (target, hash)
    }
}

/// What a commit has changed.
package struct RealtimeCommitted: Sendable {
    /// The version of the state that contains it: the commit's time in microseconds.
    package var version: Int64
    /// They lead one after the other to the state after; none contains another. Empty if everything was so before.
    package var changes: [RealtimeAppliedChange]
    /// What was asked for, with its server values computed, also where everything was so before.
    package var written: [RealtimeChange] = []
}
