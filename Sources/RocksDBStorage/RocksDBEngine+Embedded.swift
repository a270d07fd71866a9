import CRocksDB
import Foundation
package import StorageEngine

extension RocksDBEngine: EmbeddedEngine {
    package func copy(to target: String, replacing: Bool, progress: (WorkProgress) throws -> Void) throws -> Int {
        let draft = target + ".unfinished"
        guard !StoreFile.isPart(target, of: directory), !StoreFile.isPart(draft, of: directory) else {
            throw StorageError(
                .unavailable,
                "\(target) belongs to the store \(directory) itself; name a directory elsewhere for the backup")
        }
        guard !StoreFile.isPart(directory, of: target) else {
            throw StorageError(
                .unavailable, "\(target) contains the store \(directory); name a directory elsewhere for the backup")
        }
        guard replacing || !StoreFile.exists(target) else { throw StoreFile.isThere(target) }
        // Another copy may have the same target.
        oneCopy.lock()
        defer { oneCopy.unlock() }
        try StoreFile.undoExchange(of: target)
        try RocksDBFiles.checkReplaceable(target)
        StoreFile.removeAll(draft)
        do {
            if handle.refusal == nil {
                try withCheckpoint { try RocksDBFiles.copy($0, to: draft, progress: progress) }
            } else {
                // While no commit is possible, a checkpoint may not fit on the disk either, and no file changes.
                try handle.reading { _ in try RocksDBFiles.copy(directory, to: draft, progress: progress) }
            }
            // A store that was opened once has a log, which one without is known to have lost.
            try RocksDBEngine(existing: draft, as: .backup).close()
            try RocksDBFiles.check(draft, as: .backup)
            try RocksDBFiles.sync(draft)
            if replacing, StoreFile.exists(target) {
                try StoreFile.exchange(draft, with: target)
            } else {
                try StoreFile.moveWhereFree(draft, to: target)
            }
            try StoreFile.syncDirectory(of: target)
        } catch {
            StoreFile.removeAll(draft)
            throw error
        }
        // What was replaced.
        StoreFile.removeAll(draft)
        return RocksDBFiles.size(target)
    }

    /// Calls the body with a directory that has one state of the store, whose tables are shared with the store. The caller
    /// has `oneCopy`.
    private func withCheckpoint<Result>(_ body: (String) throws -> Result) throws -> Result {
        // Beside the store no other file system is in the way of sharing.
        defer { StoreFile.removeAll(checkpoint) }
        do { try makeCheckpoint() } catch let error as StorageError where error.tellsOfMissingFile {
            // RocksDB may remove a file while it makes a checkpoint, before 8.8 after a full disk, and before 9.6 while it
            // begins a new list of files.
            try makeCheckpoint()
        }
        return try body(checkpoint)
    }

    private func makeCheckpoint() throws {
        StoreFile.removeAll(checkpoint)
        try handle.reading { pointer in
            guard let maker = try calling(directory, { rocksdb_checkpoint_object_create(pointer, $0) }) else {
                throw StorageError.noMemory
            }
            defer { rocksdb_checkpoint_object_destroy(maker) }
            try calling(directory) { rocksdb_checkpoint_create(maker, checkpoint, 0, $0) }
        }
    }

    package func findDamage(
        until cancellation: BlockingWork.Cancellation = BlockingWork.Cancellation(),
        _ report: (String) throws -> Bool
    ) throws {
        guard handle.refusal == nil else { return try findDamage(in: handle, until: cancellation, report) }
        oneCopy.lock()
        defer { oneCopy.unlock() }
        // All is read from the files again, and none of it replaces what other reads need in memory.
        try withCheckpoint { checkpoint in
            let state = try RocksDBHandle(reading: checkpoint)
            defer { state.close() }
            try findDamage(in: state, until: cancellation, report)
        }
    }

    private func findDamage(
        in state: RocksDBHandle, until cancellation: BlockingWork.Cancellation, _ report: (String) throws -> Bool
    ) throws {
        try state.reading { pointer in
            let snapshot = rocksdb_create_snapshot(pointer)
            defer { rocksdb_release_snapshot(pointer, snapshot) }
            let reader = RocksDBReader(pointer, of: handle, snapshot: snapshot)
            for table in StorageTable.allCases {
                var rows = 0
                do {
                    // Each block that is read is compared with its checksum. Downwards: upwards, RocksDB before 8.3.3 passes
                    // by a table without an error if its first block can't be read, and all behind it on its level.
                    try reader.scan(table, .all, reverse: true) { _, _ in
                        rows += 1
                        if rows % 1000 == 0 { try cancellation.check() }
                        return true
                    }
                } catch let error as StorageError where error.kind == .damaged {
                    guard try report("\(error.message) (\(rows) rows before the end of its part \(table))") else {
                        return
                    }
                }
            }
            try cancellation.check()
        }
    }

    /// RocksDB returns the space of deleted rows by itself, in time; this does it at once, while commits go on.
    package func compact(
        _ extent: CompactionExtent, until cancellation: BlockingWork.Cancellation = BlockingWork.Cancellation(),
        progress: (WorkProgress) throws -> Void
    ) throws -> Compaction {
        let before = RocksDBFiles.size(directory)
        if let refusal = handle.refusal { throw refusal }
        // One that was interrupted has left it forbidden.
        handle.allowCompaction()
        try handle.reading { pointer in
            guard let options = rocksdb_compactoptions_create() else { throw StorageError.noMemory }
            defer { rocksdb_compactoptions_destroy(options) }
            if extent == .whole {
                // Also tables that have no deleted rows.
                rocksdb_compactoptions_set_bottommost_level_compaction(options, 2)
            }
            let tables = StorageTable.allCases
            let errors = Self.errors(of: pointer)
            for (index, table) in tables.enumerated() {
                let (start, end) = ([UInt8(table.rawValue)], [UInt8(table.rawValue) + 1])
                try cancellation.step(interrupt: { [handle] in handle.interruptCompaction() }) {
                    start.withUnsafeBytes { start in
                        end.withUnsafeBytes { end in
                            rocksdb_compact_range_opt(
                                pointer, options, start.assumingMemoryBound(to: CChar.self).baseAddress, start.count,
                                end.assumingMemoryBound(to: CChar.self).baseAddress, end.count)
                        }
                    }
                }
                try cancellation.check()
                // The function itself reports no error.
                guard Self.errors(of: pointer) == errors else { throw try reason(of: pointer) }
                try progress(WorkProgress(done: index + 1, total: tables.count))
            }
        }
        return Compaction(before: before, after: RocksDBFiles.size(directory), kept: 0)
    }

    /// The number of flushes and compactions that have failed.
    private static func errors(of database: OpaquePointer) -> UInt64 {
        var count: UInt64 = 0
        rocksdb_property_int(database, "rocksdb.background-errors", &count)
        return count
    }

    /// Why a compaction has failed.
    private func reason(of database: OpaquePointer) throws -> StorageError {
        var damage: String?
        try findDamage { finding in
            damage = finding
            return false
        }
        if let damage { return StorageError(.damaged, damage) }
        return StorageError(
            .unavailable,
            "the store \(directory) can't be compacted; check the room on its disk, and RocksDB's own words in "
                + "\(directory)/LOG")
    }
}
