import CommitPipeline
import DocumentModel
import RealtimeHashing
import RealtimeModel

/// Decides whether a write is allowed.
///
/// It may run several times: on a reader's thread first and, if what it has read has changed meanwhile, on the writer's,
/// which lets it cost little. If it costs more, it runs on a reader's thread again. It must be quick, and depend on its
/// arguments only.
///
/// - Parameters:
///   - before: the state before the write.
///   - after: the state that the whole write leads to.
///   - now: milliseconds since 1970, which the write's timestamps have.
///   - maxCost: what deciding may cost, in units of about 50 ns; nil if only the check's own bounds apply.
/// - Throws: `RealtimeFailure`, such as `denied`, to refuse the write; `DecisionTooCostly` if deciding would cost more than
///   `maxCost`.
package typealias RealtimeCheck =
    @Sendable (
        _ before: RealtimeSnapshot, _ after: RealtimeSnapshot, _ now: Int64, _ maxCost: Int?
    ) throws -> Void

/// A decision on a write, made on a state that may have changed since.
struct EarlyDecision: Sendable {
    let notes: ReadNotes
    /// The version of that state.
    let version: Int64
    /// The check's generation, see ``RealtimeCommit/checkGeneration``.
    let generation: UInt64
    /// Nil if the write is allowed.
    let failure: RealtimeFailure?
    /// Whether a hash isn't that of what exists.
    let isStale: Bool
    /// Whether nothing is left for the writer to check.
    var isChecked = true
}

extension EarlyDecision {
    /// What a node that is known tells about a write of it on condition.
    init(_ request: RealtimeCommit, of target: RealtimeTarget, ifHash hash: String, _ known: NodeCache.Known) {
        let notes = ReadNotes()
        notes.add(TreeKey.subtree(TreeKey.of(target.path)), pathsOnly: false)
        self.init(
            notes: notes, version: known.version, generation: request.checkGeneration(), failure: nil,
            isStale: !known.node.has(hash), isChecked: request.check == nil)
    }
}

/// Decides on a write in a durable state, with notes on what the decision depends on.
struct EarlyCheckJob: SnapshotJob {
    let request: RealtimeCommit
    let catalogs: CatalogCache
    let configuration: RealtimeStoreConfiguration
    /// What may be hashed.
    let limits: RealtimeReadLimits
    /// Where to add what the write replaces, if it may be asked for again soon.
    var cache: (nodes: NodeCache, place: NodeCache.Place)?
    let now: @Sendable () -> Timestamp
    let cancellation: OperationCancellation?
    /// Receives nil if there is more to hash than the limits allow, and the configuration's allow more.
    let completion: @Sendable (Result<EarlyDecision?, RealtimeFailure>) -> Void

    func run(on snapshot: Snapshot) {
        let result = Result { try decide(on: snapshot) }.mapError { RealtimeFailure(from: $0) }
        snapshot.complete { [completion] in completion(result) }
    }

    private func decide(on snapshot: Snapshot) throws -> EarlyDecision? {
        let generation = request.checkGeneration()
        let record = try catalogs.catalog(of: snapshot).record(of: request.namespace)
        let notes = ReadNotes()
        let base = TreeRows(storage: snapshot.storage, layout: record?.layout ?? TreeLayout(tree: 0))
        let plan = WritePlan(
            on: base, indexes: record?.indexes ?? [], configuration, version: max(snapshot.version, now().microseconds),
            notes: notes)
        var failure: RealtimeFailure?
        do {
            try plan.apply(request.writes)
            if let check = request.check { try plan.check(check) }
            do {
                try plan.compareHashes(request.writes, within: limits)
            } catch let error as RealtimeFailure where error.isBeyondLimits && limits != configuration.limits {
                return nil
            }
            if let cache, record != nil { cache.nodes.add(from: plan.before, at: cache.place) }
        } catch let error as RealtimeFailure {
            failure = error
        }
        return EarlyDecision(
            notes: notes, version: snapshot.version, generation: generation, failure: failure, isStale: plan.isStale)
    }

    func fail(_ error: DocumentError) { completion(.failure(RealtimeFailure(from: error))) }

    var isWanted: Bool { cancellation?.isCancelled != true }
}
