package import StorageEngine
import CSQLiteLog
import Foundation
import GRDB

/// The embedded engine: one SQLite file, one writer, readers beside it.
///
/// WAL with a sync at each commit. The process owns the file while the engine is open.
package final class SQLiteEngine: StorageEngine {
    let file: String
    let queue: DatabaseQueue
    /// Admits one backup at a time.
    let oneCopy = NSLock()
    // Touched only inside `queue`, which runs one closure at a time.
    nonisolated(unsafe) let tables: SQLiteTables
    // As `tables`. Empty between batches; it keeps their memory.
    nonisolated(unsafe) private let rows: StorageBatch
    /// From this size on, in bytes, the write-ahead log is long.
    private let longLog: Int
    // As `tables`. The size of the log at which the writer next waits for reads.
    nonisolated(unsafe) private var nextWait: Int
    // As `tables`. The log's pages after the last commit.
    nonisolated(unsafe) private let logPages = UnsafeMutablePointer<CInt>.allocate(capacity: 1)

    /// From so many pages on, the log is checkpointed.
    private static let checkpointPages: CInt = 4000

    /// Opens the file, creates it if it is missing, and migrates an older one.
    ///
    /// - Parameter longLog: larger than what SQLite leaves the log when it writes it from its start again,
    ///   `journal_size_limit`.
    /// - Throws: `StorageError` if the file is damaged, was written by a newer version or can't be used.
    package init(file: String, longLog: Int = 128 << 20) throws {
        // SQLite has the log beside the file that a link leads to.
        let file = StoreFile.target(of: file)
        self.file = file
        self.longLog = longLog
        nextWait = longLog
        logPages.initialize(to: 0)
        do {
            if FileManager.default.fileExists(atPath: file) {
                try SQLiteFileCheck.check(file)
                try StoreFile.keepPrivate(file)
            } else {
                try SQLiteFileCheck.checkHasNoLog(file)
                try Self.create(file)
            }
            try Self.adopt(file)
            // No part of this process may open and close the file itself while SQLite has it: with any descriptor, a
            // process gives up all locks on a file. Other programs that open it then take it for closed, and remove the
            // log when they close it, with all commits that are in it.
            try SQLiteFileCheck.check(file)
            queue = try DatabaseQueue(path: file, configuration: Self.configuration(readonly: false))
            try SQLiteSchema.migrator.migrate(queue)
            queue.writeWithoutTransaction { [logPages] database in
                // If that fails, commits write the log page by page.
                _ = functions_gather_log_writes(database.sqliteConnection)
                // In place of SQLite's own checkpoints, for which the callers of a commit would wait.
                _ = sqlite3_wal_hook(
                    database.sqliteConnection,
                    { logPages, _, _, pages in
                        logPages?.assumingMemoryBound(to: CInt.self).pointee = pages
                        return SQLITE_OK
                    }, logPages)
            }
            tables = try queue.writeWithoutTransaction { database in
                let tables = try SQLiteTables(database, file: file)
                for table in StorageTable.allCases { _ = try tables.get(table, []) }
                return tables
            }
            rows = StorageBatch(over: tables)
        } catch {
            throw StorageError(error, file: file)
        }
    }

    package func makeReadSession() throws -> any ReadSession {
        do {
            return try SQLiteReadSession(file: file, configuration: Self.configuration(readonly: true))
        } catch {
            throw StorageError(error, file: file)
        }
    }

    package func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try queue.writeWithoutTransaction { database in
            // Those that write without pausing may never settle.
            if logPages.pointee >= 2 * Self.checkpointPages { settle(database) }
            // The transaction is still open if an earlier rollback failed.
            if database.isInsideTransaction { try tables.run("ROLLBACK") }
            try tables.run("BEGIN IMMEDIATE")
            do {
                defer { rows.removeAll() }
                let result = try body(rows)
                // Otherwise each row would be stored by itself.
                guard database.isInsideTransaction else {
                    throw StorageError(.unavailable, "SQLite has rolled the transaction back after an error")
                }
                try rows.forEachRemovedRange { try tables.remove($0, $1) }
                try rows.forEach { try tables.store($0, $1, $2) }
                try tables.run("COMMIT")
                return result
            } catch {
                // Some failures have already ended the transaction.
                if database.isInsideTransaction { try? tables.run("ROLLBACK") }
                throw error
            }
        }
    }

    package func settle() { queue.writeWithoutTransaction { settle($0) } }

    /// Moves the log's pages to their places if there are many, and shortens it. The commits are durable: a failure is left
    /// to the next time.
    private func settle(_ database: Database) {
        if logPages.pointee >= Self.checkpointPages {
            _ = sqlite3_wal_checkpoint_v2(database.sqliteConnection, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        }
        shortenLog(database)
    }

    /// Truncates a long log. By itself, SQLite writes it from its start again only when no read needs it, which may never
    /// be while reads overlap.
    private func shortenLog(_ database: Database) {
        let size = StoreFile.size(file + "-wal") ?? 0
        if size < longLog { nextWait = longLog }
        guard size >= nextWait else { return }
        // As many milliseconds as the log has MiB: long reads are waited for only once short waits were of no use.
        let wait = CInt(min(max(size >> 20, 100), 1000))
        try? Self.truncateLog(database, waiting: wait)
        // A long read, such as a backup's, isn't waited for again at each commit.
        nextWait = max(longLog, (StoreFile.size(file + "-wal") ?? 0) + longLog / 2)
    }

    package func close() throws {
        // A connection with compiled statements can't be closed.
        queue.writeWithoutTransaction { _ in tables.forgetStatements() }
        do { try queue.close() } catch { throw StorageError(error, file: file) }
    }

    deinit { logPages.deallocate() }

    static func configuration(readonly: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = readonly
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { database in
            if !readonly {
                // A new file keeps these; older ones have pages of 4 KiB. Setting `auto_vacuum` again would commit a
                // page at each opening, for which a full disk may have no room. In a table without row ids, a row of
                // more than a quarter of a page also takes a page of its own. Searches that compare a key with such a
                // row's read that page too.
                if try Int.fetchOne(database, sql: "PRAGMA page_count") == 0 {
                    try database.execute(sql: "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL")
                }
                try database.execute(
                    sql: """
                        PRAGMA journal_mode = WAL;
                        PRAGMA synchronous = FULL;
                        -- Of macOS: otherwise commits may stay in the drive's own memory.
                        PRAGMA fullfsync = ON;
                        PRAGMA wal_autocheckpoint = \(checkpointPages);
                        PRAGMA journal_size_limit = 67108864;
                        """)
            }
            try database.execute(sql: "PRAGMA cache_size = -16384; PRAGMA cell_size_check = ON")
        }
        return configuration
    }

    private static func adopt(_ file: String) throws {
        let queue = try DatabaseQueue(path: file, configuration: configuration(readonly: false))
        try queue.writeWithoutTransaction { try adopt($0, file: file) }
        try queue.close()
    }

    /// Checkpoints the write-ahead log, and refuses files that aren't ours or are newer.
    static func adopt(_ database: Database, file: String) throws {
        let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        guard version <= SQLiteSchema.version else {
            throw StorageError(
                .newer,
                "the store's file \(file) has version \(version), newer than \(SQLiteSchema.version), the newest "
                    + "that this program knows; use a newer program")
        }
        do {
            _ = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            // The log has all of it; reads go on, and commits report that the disk is full.
        }
    }

    /// Creates the file under another name first, so that a file with the real name is always complete.
    private static func create(_ file: String) throws {
        let unfinished = file + ".unfinished"
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: unfinished + suffix) {
            try FileManager.default.removeItem(atPath: unfinished + suffix)
        }
        try StoreFile.keepPrivate(unfinished)
        let queue = try DatabaseQueue(path: unfinished, configuration: configuration(readonly: false))
        try SQLiteSchema.migrator.migrate(queue)
        // Closing the last connection checkpoints the log and removes it.
        try queue.close()
        try StoreFile.giveToOwnerOfDirectory(unfinished)
        try FileManager.default.moveItem(atPath: unfinished, toPath: file)
    }
}
