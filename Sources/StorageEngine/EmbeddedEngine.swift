/// How far a long piece of work has come, in units of its own.
package struct WorkProgress: Hashable, Sendable {
    package var done: Int
    /// Nil where it isn't known.
    package var total: Int?

    package init(done: Int, total: Int? = nil) {
        self.done = done
        self.total = total
    }
}

/// What an engine that keeps its data in a file of its own does beyond ``StorageEngine``.
///
/// All of it goes on beside commits, on the caller's thread, which it keeps until it is done.
package protocol EmbeddedEngine: StorageEngine {
    /// Copies one state into a file, whole and synced before the file has its name.
    ///
    /// - Parameters:
    ///   - replacing: whether a file of this name may be there already.
    ///   - progress: told the bytes so far; what it throws ends the copying.
    /// - Returns: the size of the copy.
    /// - Throws: `StorageError`, or what `progress` throws. Nothing new is there then.
    func copy(to target: String, replacing: Bool, progress: (WorkProgress) throws -> Void) throws -> Int

    /// Looks through the whole file for what the engine itself can tell to be damaged.
    ///
    /// - Parameters:
    ///   - cancellation: interrupts the looking.
    ///   - report: told each finding in words; answers whether to go on.
    /// - Throws: `StorageError` where the file can't be read at all, `CancellationError`, or what `report` throws.
    func findDamage(until cancellation: BlockingWork.Cancellation, _ report: (String) throws -> Bool) throws

    /// Gives the room of what was deleted back to the disk.
    ///
    /// - Parameter cancellation: interrupts the work, also while the whole file is written anew; only what brings the
    ///   new pages home at its end, and makes them durable, is then finished.
    /// - Throws: `StorageError`, `CancellationError`, or what `progress` throws. What was given back until then stays
    ///   so; a file that was being written anew is what it was.
    func compact(
        _ extent: CompactionExtent, until cancellation: BlockingWork.Cancellation,
        progress: (WorkProgress) throws -> Void
    ) throws -> Compaction
}

package enum CompactionExtent: Hashable, Sendable {
    /// Free pages only, a few at a time between commits.
    case steps
    /// Writes the whole file anew: commits wait for it, and it needs as much room on the disk again.
    case whole
}

/// What a compaction did.
package struct Compaction: Hashable, Sendable {
    /// Bytes of all the engine's files.
    package var before: Int
    package var after: Int
    /// Free bytes that a file of an older version can only give back when it is written anew.
    package var kept: Int

    package init(before: Int, after: Int, kept: Int) {
        self.before = before
        self.after = after
        self.kept = kept
    }
}
