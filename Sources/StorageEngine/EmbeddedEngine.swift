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

/// The embedded engines.
package enum EmbeddedEngineKind: String, CaseIterable, Sendable {
    /// One file. The fastest reads, and the smallest memory.
    case sqlite
    /// A directory of sorted tables, for many writes and much data.
    case rocksdb

    /// The suffixes of the files that belong to a store besides its own file or directory.
    package var companions: [String] {
        switch self {
        // SQLite would apply a log to another database beside it.
        case .sqlite: ["-wal", "-shm"]
        case .rocksdb: []
        }
    }
}

/// What an engine that keeps its data in a file or directory of its own can do beyond ``StorageEngine``.
///
/// Commits go on meanwhile. Each function blocks the calling thread until it is done.
package protocol EmbeddedEngine: StorageEngine {
    /// Copies one state into a file, or a directory if the engine has one. It gets its name once it is complete and synced.
    ///
    /// - Parameters:
    ///   - replacing: whether something with this name may exist already; it is replaced then.
    ///   - progress: called with the bytes so far; an error that it throws ends the copying.
    /// - Returns: the size of the copy.
    /// - Throws: `StorageError`, or what `progress` throws. Nothing new exists then.
    func copy(to target: String, replacing: Bool, progress: (WorkProgress) throws -> Void) throws -> Int

    /// Checks the whole store for damage that the engine itself can recognise.
    ///
    /// - Parameters:
    ///   - cancellation: interrupts the check.
    ///   - report: called with a description of each finding; returns whether to go on.
    /// - Throws: `StorageError` if it can't be read at all, `CancellationError`, or what `report` throws.
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
    /// What is free, between commits.
    case steps
    /// Rewrites all: with SQLite commits wait for it, and it needs as much disk space again.
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
