/// The progress of a long piece of work, in units of its own.
package struct WorkProgress: Hashable, Sendable {
    package var done: Int
    /// Nil if it isn't known.
    package var total: Int?

    package init(done: Int, total: Int? = nil) {
        self.done = done
        self.total = total
    }
}

/// What an engine that keeps its data in a file of its own can do beyond ``StorageEngine``.
///
/// Commits go on meanwhile. Each function blocks the calling thread until it is done.
package protocol EmbeddedEngine: StorageEngine {
    /// Copies one state into a file. The file gets its name once it is complete and synced.
    ///
    /// - Parameters:
    ///   - replacing: whether a file with this name may exist already; it is replaced then.
    ///   - progress: called with the bytes so far; an error that it throws ends the copying.
    /// - Returns: the size of the copy.
    /// - Throws: `StorageError`, or what `progress` throws. No new file exists then.
    func copy(to target: String, replacing: Bool, progress: (WorkProgress) throws -> Void) throws -> Int

    /// Checks the whole file for damage that the engine itself can recognise.
    ///
    /// - Parameters:
    ///   - cancellation: interrupts the check.
    ///   - report: called with a description of each finding; returns whether to go on.
    /// - Throws: `StorageError` if the file can't be read at all, `CancellationError`, or what `report` throws.
    func findDamage(until cancellation: BlockingWork.Cancellation, _ report: (String) throws -> Bool) throws

    /// Returns the space of deleted data to the disk.
    ///
    /// - Parameter cancellation: interrupts the work, even while the whole file is being rewritten. Only the last part,
    ///   which moves the new pages into the file and makes them durable, is always finished.
    /// - Throws: `StorageError`, `CancellationError`, or what `progress` throws. Space that was returned until then
    ///   stays returned; an interrupted rewrite leaves the file unchanged.
    func compact(
        _ extent: CompactionExtent, until cancellation: BlockingWork.Cancellation,
        progress: (WorkProgress) throws -> Void
    ) throws -> Compaction
}

package enum CompactionExtent: Hashable, Sendable {
    /// Free pages only, a few at a time between commits.
    case steps
    /// Rewrites the whole file: commits wait for it, and it needs as much disk space again.
    case whole
}

/// The result of a compaction.
package struct Compaction: Hashable, Sendable {
    /// The size of all the engine's files in bytes.
    package var before: Int
    package var after: Int
    /// Free bytes that a file of an older version can only return when the whole file is rewritten.
    package var kept: Int

    package init(before: Int, after: Int, kept: Int) {
        self.before = before
        self.after = after
        self.kept = kept
    }
}
