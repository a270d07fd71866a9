import CommitPipeline
package import DocumentModel
package import RealtimeModel

/// Writes the rows of a text into the tree while it is read, some in each of many commits. What exists beside them stays.
///
/// While some are committed, the next are read. Blocks the calling thread, which must not be one of the pipeline's.
package struct MergingRows: RealtimeTextReceiver {
    /// What one commit writes, so that other writers don't wait long, and that its events aren't too many.
    private static let maxRows = 500
    private static let maxBytes = 256 * 1024

    /// What one commit writes.
    private struct Batch {
        var leaves: [RealtimeUpdate.Entry] = []
        /// Of objects, which exist once the leaves are written.
        var priorities: [(path: RealtimePath, priority: RealtimePriority)] = []
        var bytes = 0

        var count: Int { leaves.count + priorities.count }

        /// The same in two commits: priorities come last.
        var halves: (Batch, Batch) {
            let half = count / 2
            let more = max(half - leaves.count, 0)
            return (
                Batch(leaves: Array(leaves.prefix(half)), priorities: Array(priorities.prefix(more))),
                Batch(leaves: Array(leaves.dropFirst(half)), priorities: Array(priorities.dropFirst(more)))
            )
        }
    }

    private let store: RealtimeStore
    private let namespace: String
    private let context: OperationContext
    private let triggerLimits: TriggerLimits
    private let progress: (Int) throws -> Void
    private var batch = Batch()
    /// Priorities of objects of which no leaf has come yet.
    private var early: [(path: RealtimePath, priority: RealtimePriority)] = []
    private var committing: Batch?
    private let results = JobQueue<Result<RealtimeCommitted, RealtimeFailure>>()
    /// How many rows are durable.
    package private(set) var written = 0

    /// - Parameter progress: called from time to time with the number of bytes that were read. What it throws ends reading.
    package init(
        in store: RealtimeStore, _ namespace: String, context: OperationContext, triggerLimits: TriggerLimits,
        progress: @escaping (Int) throws -> Void
    ) {
        self.store = store
        self.namespace = namespace
        self.context = context
        self.triggerLimits = triggerLimits
        self.progress = progress
    }

    package mutating func leaf(_ leaf: RealtimeLeaf, priority: RealtimePriority?, at keys: [RealtimeKey]) throws {
        let target = RealtimeTarget(RealtimePath(unchecked: keys))
        let value = RealtimeWriteValue(RealtimeNode(leaf, priority: priority))
        batch.leaves.append(RealtimeUpdate.Entry(target: target, value: value))
        batch.bytes += keys.reduce(32) { $0 + $1.string.utf8.count }
        if case .string(let text) = leaf { batch.bytes += text.utf8.count }
        batch.priorities += early
        early = []
        if batch.count >= Self.maxRows || batch.bytes >= Self.maxBytes { try flush() }
    }

    package mutating func priority(_ priority: RealtimePriority, at keys: [RealtimeKey]) throws {
        early.append((RealtimePath(unchecked: keys), priority))
    }

    package mutating func advanced(to position: Int) throws { try progress(position) }

    /// Commits the rest, and returns once all is durable.
    package mutating func finish() throws {
        batch.priorities += early
        early = []
        if batch.count > 0 { try flush() }
        try wait()
    }

    // MARK: Commits

    private mutating func flush() throws {
        try wait()
        try begin(batch)
        committing = batch
        batch = Batch()
    }

    private func begin(_ batch: Batch) throws {
        var writes: [RealtimeWrite] = []
        if !batch.leaves.isEmpty { writes.append(.update(try RealtimeUpdate(batch.leaves))) }
        for (path, priority) in batch.priorities {
            let value = RealtimeWriteValue(RealtimeNode(priority.leaf))
            writes.append(.set(RealtimeTarget(path, isPriority: true), value))
        }
        var request = RealtimeCommit(writes, in: namespace)
        request.triggerLimits = triggerLimits
        store.commit(request, in: context) { [results] in _ = results.put($0) }
    }

    /// Waits until what was given to the store is durable.
    private mutating func wait() throws {
        guard let batch = committing else { return }
        committing = nil
        guard let result = results.take()?.first else { throw RealtimeFailure(from: CommitPipeline.shutDown) }
        switch result {
        case .success: written += batch.count
        case .failure(let failure):
            guard failure.code == .triggerLimit, batch.count > 1 else { throw failure }
            // Fewer writes invoke fewer functions.
            let (first, second) = batch.halves
            for half in [first, second] {
                try begin(half)
                committing = half
                try wait()
            }
        }
    }
}
