import CommitPipeline
import RealtimeHashing
import RealtimeModel
import StorageEngine

/// What a commit's writes change, computed before any of it is stored.
final class WritePlan {
    private let base: TreeRows
    private let editor: TreeEditor
    private let indexes: [RealtimeIndex]
    private let configuration: RealtimeStoreConfiguration
    /// The version that the commit gets, or an estimate.
    private let version: Int64
    private let notes: ReadNotes?
    /// They lead to the state after, in whatever order; none contains another.
    private(set) var applied: [RealtimeAppliedChange] = []
    /// The writes with their server values computed.
    private(set) var written: [RealtimeChange] = []
    /// Whether the hash of a conditional write isn't that of what exists.
    private(set) var isStale = false

    /// - Parameters:
    ///   - base: the state before the commit.
    ///   - notes: notes what the result depends on.
    init(
        on base: TreeRows, indexes: [RealtimeIndex], _ configuration: RealtimeStoreConfiguration, version: Int64,
        notes: ReadNotes? = nil
    ) {
        var base = base
        editor = TreeEditor(
            on: base, indexes: indexes, maxComparedRows: configuration.maxComparedRows, notes: notes)
        base.notes = notes
        self.base = base
        self.indexes = indexes
        self.configuration = configuration
        self.version = version
        self.notes = notes
    }

    var changes: RowChanges { editor.changes }

    /// The commit's time in milliseconds since 1970.
    var now: Int64 { version / 1_000 }

    var before: RealtimeSnapshot {
        RealtimeSnapshot(base, indexes: indexes, limits: configuration.limits, version: version)
    }

    /// The state with the writes so far.
    private var after: RealtimeSnapshot { after(configuration.limits) }

    private func after(_ limits: RealtimeReadLimits) -> RealtimeSnapshot {
        var rows = editor.rows
        rows.notes = notes
        return RealtimeSnapshot(rows, indexes: indexes, limits: limits, version: version)
    }

    /// Whether a query still finds, or a node still is, what has this hash. What is too much for the limits isn't looked at:
    /// then it isn't.
    func isUnchanged(_ expectation: RealtimeExpectation, within limits: RealtimeReadLimits) throws -> Bool {
        let before = RealtimeSnapshot(base, indexes: indexes, limits: limits, version: version)
        do {
            return try before.hash(at: expectation.path, matching: expectation.query, isExact: true)
                == expectation.hash
        } catch let failure as RealtimeFailure where failure.isBeyondLimits {
            return false
        }
    }

    /// Adds writes, each of which sees what the ones before have changed.
    func apply(_ writes: [RealtimeWrite]) throws {
        var all: [RealtimeAppliedChange] = []
        for write in writes {
            let changes = try write.resolved(now: now) { target in try after.leaf(at: target) }
            written += changes
            for change in changes {
                if let new = try editor.apply(change) { all.append(new) }
            }
        }
        // Within one write, no target contains another.
        guard writes.count > 1 || AppliedChanges.dependOnOrder(all) else {
            applied += all
            return
        }
        var several = AppliedChanges()
        for change in all { several.add(change) }
        applied += try several.independent(in: after)
    }

    /// Compares the hashes of conditional writes, each with what exists before it.
    ///
    /// - Throws: a failure beyond limits if what exists is too much for these.
    func compareHashes(_ writes: [RealtimeWrite], within limits: RealtimeReadLimits) throws {
        guard writes.contains(where: \.isConditional) else { return }
        let plan = WritePlan(on: base, indexes: indexes, configuration, version: version, notes: notes)
        for (index, write) in writes.enumerated() {
            if case .set(let target, _, let hash?) = write, try !plan.has(hash, at: target, within: limits) {
                isStale = true
                return
            }
            if index < writes.count - 1 { try plan.apply([write]) }
        }
    }

    private func has(_ hash: String, at target: RealtimeTarget, within limits: RealtimeReadLimits) throws -> Bool {
        try after(limits).has(hash, at: target)
    }

    /// - Throws: what the check throws: `DecisionTooCostly` if deciding would cost more than `maxCost`.
    func check(_ check: RealtimeCheck, maxCost: Int? = nil) throws { try check(before, after, now, maxCost) }

    /// The events of what has changed.
    ///
    /// - Throws: `triggerLimit`.
    func events(by triggers: RealtimeTriggers, in request: RealtimeCommit) throws -> [CausedEvent] {
        guard !applied.isEmpty else { return [] }
        return try CausedReferences(
            in: request.namespace, before: before, after: after, limits: request.triggerLimits
        ).events(of: applied, by: triggers)
    }
}
