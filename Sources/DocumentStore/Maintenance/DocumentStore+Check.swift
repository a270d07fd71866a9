package import CommitPipeline
package import StorageEngine

/// The counts and findings of a check of a store.
package struct CheckResult: Hashable, Sendable {
    package var documents = 0
    package var entries = 0
    package var changes = 0
    package var completions = 0
    package var deliveries = 0
    package var events = 0
    /// The number of all problems, including those that weren't reported individually.
    package var problems = 0
    /// Whether there are problems that recreating the indexes repairs.
    package var isRepairable = false
    /// Whether there are problems that ``Outbox/repair()`` repairs.
    package var isOutboxRepairable = false
    /// Whether index entries weren't checked because indexes were being built.
    package var skippedIndexes = false
    /// Whether the engine can't read all. Then nothing may be repaired.
    package var hasEngineDamage = false

    package init() {}

    package init(_ common: CommitCheckResult) {
        changes = common.changes
        completions = common.completions
        deliveries = common.deliveries
        events = common.events
        problems = common.problems
        isOutboxRepairable = common.isOutboxRepairable
        hasEngineDamage = common.hasEngineDamage
        for case let found as DocumentCheckResult in common.kinds {
            documents = found.documents
            entries = found.entries
            isRepairable = found.isRepairable
            skippedIndexes = found.skippedIndexes
        }
    }
}

extension DocumentStore {
    /// Checks one state of the store: whether the engine finds its file intact, each document can be read, the index
    /// entries are exactly those that should exist, the log and the kept answers are consistent, and what other kinds
    /// of data check. Commits go on meanwhile. Blocks the calling thread.
    ///
    /// - Parameters:
    ///   - cancellation: interrupts the check of the file.
    ///   - report: called with each problem.
    ///   - progress: called with the number of documents so far; an error that it throws ends the check.
    /// - Throws: `DocumentError` if the store can't be read at all, `CancellationError`, or what `report` or `progress`
    ///   throws.
    package func check(
        until cancellation: BlockingWork.Cancellation = BlockingWork.Cancellation(),
        report: (String) throws -> Void, progress: (WorkProgress) throws -> Void
    ) throws -> CheckResult {
        CheckResult(try pipeline.check(until: cancellation, report: report, progress: progress))
    }
}

extension DocumentStore {
    /// The engine, if it keeps a file of its own; otherwise nil.
    package var embeddedEngine: (any EmbeddedEngine)? { engine as? any EmbeddedEngine }
}
