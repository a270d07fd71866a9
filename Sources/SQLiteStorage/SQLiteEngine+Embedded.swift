package import StorageEngine
import Foundation
import GRDB
import GRDBSQLite

extension SQLiteEngine: EmbeddedEngine {
    /// 2 MiB: large enough for the disk's full speed, and small enough to be interrupted often.
    private static let pagesPerStep: CInt = 256
    /// The pages that one step of a compaction moves; commits wait for one step at most.
    private static let pagesPerCompaction = 64
    /// SQLite's virtual machine runs this many instructions between two checks for cancellation. The number is small,
    /// because one instruction may move a document of 1 MiB.
    private static let stepsBetweenQuestions: CInt = 50

    package func copy(to target: String, replacing: Bool, progress: (WorkProgress) throws -> Void) throws -> Int {
        let draft = target + ".unfinished"
        guard !StoreFile.isPart(target, of: file), !StoreFile.isPart(draft, of: file) else {
            throw StorageError(
                .unavailable, "\(target) belongs to the store \(file) itself; name a file elsewhere for the backup")
        }
        // Another copy may have the same target.
        oneCopy.lock()
        defer { oneCopy.unlock() }
        if !replacing { try StoreFile.checkIsFree(target) }
        StoreFile.removeDatabase(draft)
        // If the directory is missing or not accessible, this reports it in the system's words.
        try StoreFile.makeEmpty(draft)
        do {
            try fill(draft, progress: progress)
            try SQLiteFileCheck.check(draft, as: .backup)
            try StoreFile.sync(draft)
            if replacing {
                try StoreFile.removeCompanions(target)
                try StoreFile.move(draft, to: target)
            } else {
                try StoreFile.checkIsFree(target)
                try StoreFile.moveWhereFree(draft, to: target)
            }
            try StoreFile.syncDirectory(of: target)
        } catch {
            StoreFile.removeDatabase(draft)
            throw error
        }
        return StoreFile.size(target) ?? 0
    }

    private func fill(_ draft: String, progress: (WorkProgress) throws -> Void) throws {
        var stopped: (any Error)?
        do {
            let source = try DatabaseQueue(path: file, configuration: Self.configuration(readonly: true))
            var unsafe = Configuration()
            // No other process opens the draft before it is complete and synced.
            unsafe.prepareDatabase { try $0.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF") }
            let copy = try DatabaseQueue(path: draft, configuration: unsafe)
            try source.read { source in
                // From its first read on the connection sees one state, so that no commit makes the copy start over.
                let pageSize = try Int.fetchOne(source, sql: "PRAGMA page_size") ?? 4096
                _ = try Row.fetchOne(source, sql: "SELECT key FROM meta LIMIT 1")
                try withoutActuallyEscaping(progress) { progress in
                    try copy.writeWithoutTransaction { copy in
                        try source.backup(to: copy, pagesPerStep: Self.pagesPerStep) { pages in
                            do {
                                let total = pages.totalPageCount * pageSize
                                try progress(WorkProgress(done: pages.completedPageCount * pageSize, total: total))
                            } catch {
                                stopped = error
                                throw error
                            }
                        }
                    }
                }
            }
            try copy.close()
            try source.close()
            // `backup` ignores an error that the progress closure throws at the last step.
            if let stopped { throw stopped }
        } catch {
            if let stopped { throw stopped }
            guard let error = error as? DatabaseError else { throw error }
            switch error.resultCode {
            case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_NOMEM: throw StorageError(error, file: file)
            case .SQLITE_FULL: throw StorageError(.unavailable, "the disk of the backup \(draft) is full")
            default: throw StorageError(.unavailable, "the backup \(draft) can't be made (\(error))")
            }
        }
    }

    package func findDamage(
        until cancellation: BlockingWork.Cancellation = BlockingWork.Cancellation(),
        _ report: (String) throws -> Bool
    ) throws {
        do {
            let queue = try DatabaseQueue(path: file, configuration: Self.configuration(readonly: true))
            try Self.findDamage(queue, until: cancellation, report)
            try queue.close()
        } catch let error as DatabaseError {
            throw StorageError(error, file: file)
        }
    }

    /// Bounded, because one lost page can cause very many findings.
    static func findDamage(
        _ queue: DatabaseQueue, until cancellation: BlockingWork.Cancellation = BlockingWork.Cancellation(),
        _ report: (String) throws -> Bool
    ) throws {
        do {
            try queue.read { database in
                try step(on: database, of: queue, until: cancellation) {
                    let findings = try String.fetchCursor(database, sql: "PRAGMA integrity_check(1000)")
                    var isIntact = true
                    while let finding = try findings.next() {
                        // An interrupted integrity check reports the pages that it skipped as damaged.
                        try cancellation.check()
                        if finding == "ok" { continue }
                        isIntact = false
                        // All that is wrong with the pages of a table or two is in one row, below a title.
                        for line in finding.split(separator: "\n") where !line.hasPrefix("*** in database") {
                            guard try report(String(line)) else { return }
                        }
                    }
                    if isIntact { try LargeValues.findDamage(database, report) }
                }
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
            _ = try report("the check could not go on: \(error.message ?? "the file is damaged")")
        }
    }

    /// Runs a step of SQLite's that doesn't check for cancellation itself.
    static func step(
        on database: Database, of queue: DatabaseQueue, until cancellation: BlockingWork.Cancellation,
        _ body: () throws -> Void
    ) throws {
        // SQLite forgets an interruption that comes while no statement is in progress.
        let held = try Row.fetchCursor(database, sql: "SELECT 1")
        _ = try held.next()
        try withExtendedLifetime(held) { try cancellation.step(interrupt: queue.interrupt, body) }
    }

    package func compact(
        _ extent: CompactionExtent, until cancellation: BlockingWork.Cancellation = BlockingWork.Cancellation(),
        progress: (WorkProgress) throws -> Void
    ) throws -> Compaction {
        do {
            let before = StoreFile.sizeOfDatabase(file)
            switch extent {
            case .whole:
                try queue.writeWithoutTransaction { database in
                    // A statement in progress would make this fail.
                    tables.forgetStatements()
                    try keepTemporaryFilesBeside(database)
                    try Self.rewrite(database, until: cancellation)
                }
            case .steps:
                try releasePages {
                    try cancellation.check()
                    try progress($0)
                }
            }
            // Commits wait for it. Little is left, unless a long read, such as a backup's, has held it back.
            try queue.writeWithoutTransaction { database in
                try Self.step(on: database, of: queue, until: cancellation) {
                    try Self.truncateLog(database, waiting: 0)
                }
            }
            let kept = try queue.writeWithoutTransaction { database in
                let pages = try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
                return try pages * (Int.fetchOne(database, sql: "PRAGMA page_size") ?? 0)
            }
            return Compaction(before: before, after: StoreFile.sizeOfDatabase(file), kept: kept)
        } catch let error as DatabaseError {
            throw StorageError(error, file: file)
        }
    }

    /// Lets SQLite write the copy that a rewriting makes on the disk of the data, and not on that of the system's temporary
    /// files, which may be small. The setting is the process's: other stores in it have theirs there too, or in the
    /// system's directory once this one is gone.
    private func keepTemporaryFilesBeside(_ database: Database) throws {
        let directory = URL(fileURLWithPath: file).deletingLastPathComponent().path
        let current = try String.fetchOne(database, sql: "PRAGMA temp_store_directory")
        guard current != directory else { return }
        let literal = directory.replacingOccurrences(of: "'", with: "''")
        try database.execute(sql: "PRAGMA temp_store_directory = '\(literal)'")
    }

    /// - Throws: `CancellationError` if it was interrupted; SQLite rolls everything back then.
    private static func rewrite(_ database: Database, until cancellation: BlockingWork.Cancellation) throws {
        try cancellation.check()
        let connection = database.sqliteConnection
        sqlite3_progress_handler(
            connection, stepsBetweenQuestions,
            {
                $0.map { Unmanaged<BlockingWork.Cancellation>.fromOpaque($0).takeUnretainedValue().isCancelled ? 1 : 0 }
                    ?? 0
            },
            Unmanaged.passUnretained(cancellation).toOpaque())
        defer { sqlite3_progress_handler(connection, 0, nil, nil) }
        do {
            try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
            throw CancellationError()
        }
    }

    private func releasePages(_ progress: (WorkProgress) throws -> Void) throws {
        func free(_ database: Database) throws -> Int {
            try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
        }
        // 2 is INCREMENTAL.
        let (mode, total) = try queue.writeWithoutTransaction { database in
            (try Int.fetchOne(database, sql: "PRAGMA auto_vacuum"), try free(database))
        }
        guard mode == 2 else { return }
        var left = total
        // Pages that commits free meanwhile are left for the next compaction.
        for _ in 0...total / Self.pagesPerCompaction where left > 0 {
            try queue.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA incremental_vacuum(\(Self.pagesPerCompaction))")
                left = try free(database)
            }
            try progress(WorkProgress(done: max(total - left, 0), total: total))
        }
    }

    /// Checkpoints the write-ahead log and truncates it, outside of a transaction, if no reader needs it any more.
    ///
    /// As all checkpoints, by the connection that writes: before 3.51.3 SQLite can lose a commit that writes the log
    /// from its start again while another connection checkpoints (its "WAL-reset bug").
    ///
    /// - Parameter wait: how long readers may take to end, in milliseconds.
    static func truncateLog(_ database: Database, waiting wait: CInt) throws {
        sqlite3_busy_timeout(database.sqliteConnection, wait)
        defer { sqlite3_busy_timeout(database.sqliteConnection, 5000) }
        _ = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
    }
}
