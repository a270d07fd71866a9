import CRocksDB
import Foundation
import StorageEngine

/// The open store. RocksDB refuses all commits after one that has failed: the store is opened again at a later commit, once
/// nothing speaks against it. It can be read until then.
final class RocksDBHandle: @unchecked Sendable {
    /// Opening again waits at most so long for reads that are under way, and new reads wait with it. Long ones, such as an
    /// export, may take much longer: commits are refused until they have ended.
    private static let patience: TimeInterval = 0.2
    /// After an attempt that failed, commits are refused at once for so long.
    private static let pause = Duration.seconds(1)
    /// The room that opening takes besides that for the logs' rows.
    private static let room = 1 << 20

    /// Why commits are refused.
    private struct Stop {
        var error: StorageError
        /// The number of the last row that was committed; nil if it isn't known.
        var lastRow: UInt64?
        var nextAttempt: ContinuousClock.Instant?
    }

    let directory: String
    let largeValues: RocksDBLargeValues
    /// Whether ranges may have been removed as such, and not yet forgotten in a compaction. Scans must look for them then:
    /// before 8.3.3, RocksDB doesn't tell an error in the first block of a table that such a scan upwards comes to from
    /// the table before, and goes on without the rows of both.
    ///
    /// Changed only before others use the handle.
    nonisolated(unsafe) var mayHoldRanges = true
    private let condition = NSCondition()
    // `condition` is held by all code that uses the variables below.
    /// Nil once it is closed, or while it can't be opened.
    private var pointer: OpaquePointer?
    private var isClosed = false
    private var users = 0
    private var stop: Stop?
    /// Why it can't even be read.
    private var unreadable: StorageError?
    /// New reads wait until it is open again.
    private var isReopening = false
    /// How often it was opened.
    private var openings = 0

    private let compaction = NSLock()
    /// The opening for which compactions are forbidden. `compaction` is held by all code that uses it.
    private var forbidden: Int?

    /// - Parameter isDraft: whether it is a copy that must be complete: a full disk is an error then. Other stores can be
    ///   read if there is no room for commits.
    init(_ directory: String, isDraft: Bool = false) throws {
        self.directory = directory
        largeValues = RocksDBLargeValues(of: directory)
        let opened = Result { () throws(StorageError) in try Self.open(directory) }
        if case .failure(let error) = opened, error.tellsOfFullDisk, !isDraft {
            pointer = try Self.openForReading(directory)
            stop = Stop(error: error)
        } else {
            pointer = try opened.get()
        }
    }

    /// Creates an empty store in an empty directory, and opens it.
    init(creating directory: String) throws {
        self.directory = directory
        largeValues = RocksDBLargeValues(of: directory)
        pointer = try Self.open(directory, creating: true)
    }

    /// Opens one state for reading alone.
    init(reading directory: String) throws {
        self.directory = directory
        largeValues = RocksDBLargeValues(of: directory)
        pointer = try Self.openForReading(directory)
        stop = Stop(error: StorageError(.internal, "\(directory) is open for reading alone"))
    }

    /// Calls the body with the open store.
    func reading<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        let (pointer, _) = try begin()
        defer { end() }
        return try body(pointer)
    }

    /// Calls the body with the store opened for commits, or why none is possible: it can be read then. One call at a time.
    func writing<Result>(_ body: (OpaquePointer, _ refusal: StorageError?) throws -> Result) throws -> Result {
        reopenIfStopped()
        let refusal = refusal
        // Without a commit to follow, RocksDB may go on by itself with what has failed.
        defer { if refusal == nil { retireIfStopped() } }
        return try reading { try body($0, refusal) }
    }

    /// Why commits are refused; nil if they aren't.
    var refusal: StorageError? { condition.withLock { stop?.error } }

    /// Refuses commits until it has been opened again, because one has failed.
    ///
    /// - Parameter lastRow: the number of the last row before that commit.
    func stop(after lastRow: UInt64, because error: StorageError) {
        condition.withLock { stop = Stop(error: error, lastRow: lastRow) }
        // The commit may be in the log, though not on the disk. If the process ends before the store is opened again, it must
        // not come back.
        _ = try? RocksDBLog.repair(directory, after: lastRow)
    }

    /// Ends the compaction that was asked for. Those to come need ``allowCompaction()`` first.
    func interruptCompaction() { forbidCompaction(true) }

    func allowCompaction() { forbidCompaction(false) }

    /// RocksDB counts both calls: each is made once.
    private func forbidCompaction(_ isForbidden: Bool) {
        compaction.lock()
        defer { compaction.unlock() }
        guard let (pointer, opening) = try? begin() else { return }
        defer { end() }
        guard isForbidden != (forbidden == opening) else { return }
        forbidden = isForbidden ? opening : nil
        // Waits until the compaction has ended.
        if isForbidden { rocksdb_disable_manual_compaction(pointer) } else { rocksdb_enable_manual_compaction(pointer) }
    }

    func close() {
        condition.lock()
        defer { condition.unlock() }
        while users > 0 || isReopening { condition.wait() }
        isClosed = true
        guard let pointer else { return }
        if stop == nil, let options = rocksdb_flushoptions_create() {
            // The next start has no log to read. If it fails, the log has all.
            _ = try? calling(directory) { rocksdb_flush(pointer, options, $0) }
            rocksdb_flushoptions_destroy(options)
        }
        rocksdb_close(pointer)
        self.pointer = nil
        if let lastRow = stop?.lastRow { _ = try? RocksDBLog.repair(directory, after: lastRow) }
        try? RocksDBFiles.keepPrivate(directory)
    }

    deinit { if let pointer { rocksdb_close(pointer) } }

    private func begin() throws -> (OpaquePointer, opening: Int) {
        condition.lock()
        defer { condition.unlock() }
        while isReopening { condition.wait() }
        guard let pointer else {
            throw unreadable ?? StorageError(.unavailable, "the store \(directory) is closed")
        }
        users += 1
        return (pointer, openings)
    }

    private func end() {
        condition.lock()
        users -= 1
        if users == 0 { condition.broadcast() }
        condition.unlock()
    }

    private func reopenIfStopped() {
        condition.withLock {
            guard let stop, !isClosed, canReopen(after: stop) else { return }
            self.stop?.nextAttempt = .now + Self.pause
            reopen { _ throws(StorageError) in try Self.open(directory) }
        }
    }

    /// Closes the store, unless reads keep it open, and opens it again: for commits, or else for reading. The caller has
    /// `condition`.
    private func reopen(_ open: (Stop) throws(StorageError) -> OpaquePointer) {
        guard let stop else { return }
        isReopening = true
        defer {
            isReopening = false
            condition.broadcast()
        }
        let end = Date(timeIntervalSinceNow: Self.patience)
        while users > 0 { guard condition.wait(until: end) else { return } }
        if let pointer { rocksdb_close(pointer) }
        pointer = nil
        openings += 1
        unreadable = nil
        do throws(StorageError) {
            // What RocksDB still had in memory may have been written when it was closed.
            if let lastRow = stop.lastRow { try RocksDBLog.repair(directory, after: lastRow) }
            pointer = try open(stop)
            self.stop = nil
        } catch {
            self.stop?.error = error
            do throws(StorageError) { pointer = try Self.openForReading(directory) } catch { unreadable = error }
        }
    }

    /// Closes a store in which a commit has failed, and opens it for reading, unless reads keep it open.
    private func retireIfStopped() {
        condition.withLock {
            guard stop != nil, !isClosed else { return }
            reopen { stop throws(StorageError) in throw stop.error }
        }
    }

    private func canReopen(after stop: Stop) -> Bool {
        // Damage stays until someone restores the store.
        guard stop.error.kind != .damaged else { return false }
        if let next = stop.nextAttempt, ContinuousClock.now < next { return false }
        guard stop.error.tellsOfFullDisk, let free = StoreFile.freeBytes(directory) else { return true }
        let logs = RocksDBFiles.logs(in: directory).reduce(0) { $0 + (StoreFile.size(directory + "/" + $1) ?? 0) }
        return free >= logs + Self.room
    }

    private static func open(_ directory: String, creating: Bool = false) throws(StorageError) -> OpaquePointer {
        try checked(directory) { () throws(StorageError) in
            let logs = RocksDBFiles.logs(in: directory)
            let options = try RocksDBOptions(creating: creating, directory: directory)
            guard let pointer = try calling(directory, { rocksdb_open(options.pointer, directory, $0) }) else {
                throw StorageError.noMemory
            }
            // What they had is in tables now. RocksDB deletes them later; while they are there, a loss of the log in use
            // isn't noticed.
            for log in logs { unlink(directory + "/" + log) }
            return pointer
        }
    }

    private static func openForReading(_ directory: String) throws(StorageError) -> OpaquePointer {
        try checked(directory) { () throws(StorageError) in
            let options = try RocksDBOptions(creating: false, directory: directory)
            guard
                let pointer = try calling(directory, { rocksdb_open_for_read_only(options.pointer, directory, 0, $0) })
            else { throw StorageError.noMemory }
            return pointer
        }
    }

    /// Opens a directory once what RocksDB doesn't check has been checked.
    private static func checked(
        _ directory: String, _ open: () throws(StorageError) -> OpaquePointer
    ) throws(StorageError) -> OpaquePointer {
        RocksDBFiles.unhide(in: directory)
        try RocksDBManifest.check(directory, with: try RocksDBLog.repair(directory))
        // Out of sight, a table is one that is missing, or it is of no use.
        let ruined = try RocksDBFiles.ruinedTables(in: directory).map { directory + "/" + $0 }
        let hidden = ruined.filter { rename($0, $0 + RocksDBFiles.hidden) == 0 }
        do throws(StorageError) {
            let pointer = try open()
            do throws(StorageError) {
                var expected: UInt64 = 0
                rocksdb_property_int(pointer, "rocksdb.num-blob-files", &expected)
                try RocksDBLargeValues(of: directory).check(expected: expected)
            } catch {
                rocksdb_close(pointer)
                throw error
            }
            for table in hidden { unlink(table + RocksDBFiles.hidden) }
            return pointer
        } catch {
            for table in hidden { rename(table + RocksDBFiles.hidden, table) }
            guard error.kind == .damaged, let table = hidden.first(where: { error.message.contains($0) }) else {
                throw error
            }
            throw StorageError(
                .damaged,
                "the store's table \(table) is damaged: its end isn't as it was written; restore it from a backup")
        }
    }
}
