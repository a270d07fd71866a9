package import StorageEngine
import DocumentModel
import Foundation
import GRDB

/// Replaces a store's file with a backup.
///
/// The backup is copied beside the file and checked there. Once the copy is called `….restored` the restore is decided:
/// the next process that opens the store moves the old files aside and gives the copy its name, however often that is
/// interrupted. Until then the old store is untouched.
package enum SQLiteRestore {
    /// Restores while no process has the store open.
    ///
    /// - Parameter progress: called with the bytes copied; an error that it throws ends the restore.
    /// - Returns: the new path of the store that was replaced; nil if there was none.
    /// - Throws: `StorageError` if the backup isn't ours, is newer or damaged, or the disk refuses. The store is
    ///   unchanged then.
    package static func restore(
        _ backup: String, to file: String, progress: (WorkProgress) throws -> Void
    ) throws -> String? {
        try finish(file)
        let draft = file + ".restoring"
        StoreFile.removeDatabase(draft)
        do {
            try copy(backup, to: draft, progress: progress)
            try check(draft, backup: backup)
            // If the disk has no room for them, the last commits stay in the log, which isn't moved with the draft.
            guard (StoreFile.size(draft + "-wal") ?? 0) == 0 else {
                throw StorageError(
                    .unavailable, "the disk of \(file) is full: the last commits of \(backup) find no room")
            }
            try StoreFile.giveToOwnerOfDirectory(draft)
            try StoreFile.sync(draft)
            try StoreFile.move(draft, to: restored(file))
            try StoreFile.syncDirectory(of: file)
        } catch {
            StoreFile.removeDatabase(draft)
            throw error
        }
        return try finish(file)
    }

    /// Finishes a restore that was decided and then interrupted; does nothing if there is none.
    @discardableResult
    static func finish(_ file: String) throws -> String? {
        let restored = restored(file)
        guard StoreFile.exists(restored) else { return nil }
        let aside = file + ".before-" + date(of: restored)
        // The log is moved with its database: SQLite would apply it to another database beside it.
        for suffix in [""] + StoreFile.companions where StoreFile.exists(file + suffix) {
            try StoreFile.move(file + suffix, to: aside + suffix)
        }
        try StoreFile.move(restored, to: file)
        try StoreFile.syncDirectory(of: file)
        return StoreFile.exists(aside) ? aside : nil
    }

    private static func restored(_ file: String) -> String { file + ".restored" }

    private static func copy(
        _ backup: String, to draft: String, progress: (WorkProgress) throws -> Void
    ) throws {
        guard StoreFile.exists(backup) else {
            throw StorageError(.unavailable, "there is no file \(backup) to restore")
        }
        try SQLiteFileCheck.check(backup, as: .backup)
        // A copy of a store that wasn't closed has its last commits in a log beside it.
        let parts = ["", "-wal"].filter { StoreFile.exists(backup + $0) }
        let total = parts.reduce(0) { $0 + (StoreFile.size(backup + $1) ?? 0) }
        var done = 0
        for part in parts {
            try StoreFile.copy(backup + part, to: draft + part) { bytes in
                done += bytes
                try progress(WorkProgress(done: done, total: total))
            }
        }
    }

    private static func check(_ draft: String, backup: String) throws {
        do {
            let queue = try DatabaseQueue(path: draft, configuration: SQLiteEngine.configuration(readonly: false))
            try queue.writeWithoutTransaction { try SQLiteEngine.adopt($0, file: backup) }
            try SQLiteFileCheck.check(draft, as: .backup)
            try SQLiteEngine.findDamage(queue) { finding in
                throw StorageError(.damaged, "the backup \(backup) is damaged: \(finding); use another one")
            }
            try mark(queue)
            try queue.close()
        } catch let error as DatabaseError {
            throw StorageError(.damaged, "the backup \(backup) can't be used (\(error)); use another one")
        }
    }

    /// Ends the backup's history: in the replaced store other commits followed it than will follow it now.
    private static func mark(_ queue: DatabaseQueue) throws {
        try queue.write { database in
            // The first schema has no change log.
            if try database.tableExists("changes") { try database.execute(sql: "DELETE FROM changes") }
            try database.execute(
                sql: "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
                arguments: [Data(RestoredMark.key), Data([1])])
        }
        // Only the file itself is moved into place.
        try queue.writeWithoutTransaction { database in
            _ = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
    }

    /// When the copy was finished: the same in each attempt.
    private static func date(of path: String) -> String {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let date = attributes?[.modificationDate] as? Date ?? Date(timeIntervalSince1970: 0)
        let time = Timestamp(microseconds: Int64(date.timeIntervalSince1970 * 1_000_000))
        return "\(time)".filter { $0 != "-" && $0 != ":" }
    }
}
