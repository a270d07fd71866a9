package import StorageEngine
import Foundation
import GRDB

/// Prepares a backup to take the place of a store's file: copies it beside the file and checks it there.
package enum SQLiteRestore {
    /// Makes a checked copy of a backup that takes the store's place when this is opened next.
    package static func prepare(
        _ backup: String, for file: String, progress: (WorkProgress) throws -> Void
    ) throws {
        let draft = file + ".restoring"
        StoreFile.removeDatabase(draft)
        do {
            try copy(backup, to: draft, progress: progress)
            try check(draft, backup: backup)
            try decide(draft, for: file)
        } catch {
            StoreFile.removeDatabase(draft)
            throw error
        }
    }

    /// Lets a closed database take the store's place when this is opened next.
    package static func decide(_ draft: String, for file: String) throws {
        // If the disk has no room for them, the last commits stay in the log, which isn't moved with the draft.
        guard (StoreFile.size(draft + "-wal") ?? 0) == 0 else {
            throw StorageError(.unavailable, "the disk of \(file) is full: the last commits find no room")
        }
        try StoreFile.giveToOwnerOfDirectory(draft)
        try StoreFile.sync(draft)
        try StoreFile.decide(draft, for: file)
    }

    private static func copy(
        _ backup: String, to draft: String, progress: (WorkProgress) throws -> Void
    ) throws {
        // The log is beside the file that a link leads to.
        let backup = StoreFile.target(of: backup)
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
}
