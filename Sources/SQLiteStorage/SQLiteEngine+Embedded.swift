package import StorageEngine
import Foundation
import GRDB
import GRDBSQLite

extension SQLiteEngine: EmbeddedEngine {
    /// 2 MiB: enough for the disk's speed, and often enough to be stopped.
    private static let pagesPerStep: CInt = 512
    /// What one step of a compaction moves; commits wait for no more than that.
    private static let pagesPerCompaction = 128
    /// Steps of SQLite's machine between two looks at whether the work is still wanted: few, as one may move a document
    /// of 1 MiB.
    private static let stepsBetweenQuestions: CInt = 50

    package func copy(to target: String, replacing: Bool, progress: (WorkProgress) throws -> Void) throws -> Int {
        let draft = target + ".unfinished"
        guard !StoreFile.isPart(target, of: file), !StoreFile.isPart(draft, of: file) else {
            throw StorageError(
                .unavailable, "\(target) belongs to the store \(file) itself; name a file elsewhere for the backup")
        }
        guard replacing || !StoreFile.exists(target) else { throw StoreFile.isThere(target) }
        StoreFile.removeDatabase(draft)
        // Tells of a directory that is missing or closed in the system's words.
        try StoreFile.makeEmpty(draft)
        do {
            try fill(draft, progress: progress)
            try SQLiteFileCheck.check(draft, as: .backup)
            try StoreFile.sync(draft)
            if replacing {
                try StoreFile.move(draft, to: target)
            } else {
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
            // Nobody sees the draft before it is whole and synced.
            unsafe.prepareDatabase { try $0.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF") }
            let copy = try DatabaseQueue(path: draft, configuration: unsafe)
            try source.read { source in
                // From the first read on the connection sees one state, so that no commit makes the copy start anew.
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
            // At the last step nobody else looks at it.
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

    /// Bounded, as one lost page can be the cause of very many findings.
    static func findDamage(
        _ queue: DatabaseQueue, until cancellation: BlockingWork.Cancellation = BlockingWork.Cancellation(),
        _ report: (String) throws -> Bool
    ) throws {
        do {
            try queue.read { database in
                try step(on: database, of: queue, until: cancellation) {
                    let findings = try String.fetchCursor(database, sql: "PRAGMA integrity_check(1000)")
                    while let finding = try findings.next() {
                        // An interrupted look through the pages takes those that it left out for damaged.
                        try cancellation.check()
                        guard finding != "ok", try report(finding) else { return }
                    }
                }
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
            _ = try report("the check could not go on: \(error.message ?? "the file is damaged")")
        }
    }

    /// Does a step of SQLite's that doesn't ask whether it is still wanted.
    static func step(
        on database: Database, of queue: DatabaseQueue, until cancellation: BlockingWork.Cancellation,
        _ body: () throws -> Void
    ) throws {
        // SQLite forgets an interruption that comes while no statement is under way.
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
                    // A statement under way would forbid it.
                    tables.forgetStatements()
                    try Self.writeAnew(database, until: cancellation)
                }
            case .steps:
                try giveBackPages {
                    try cancellation.check()
                    try progress($0)
                }
            }
            try truncateLog(until: cancellation)
            let kept = try queue.writeWithoutTransaction { database in
                let pages = try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
                return try pages * (Int.fetchOne(database, sql: "PRAGMA page_size") ?? 0)
            }
            return Compaction(before: before, after: StoreFile.sizeOfDatabase(file), kept: kept)
        } catch let error as DatabaseError {
            throw StorageError(error, file: file)
        }
    }

    /// - Throws: `CancellationError` where it was interrupted; SQLite takes all back then.
    private static func writeAnew(_ database: Database, until cancellation: BlockingWork.Cancellation) throws {
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

    private func giveBackPages(_ progress: (WorkProgress) throws -> Void) throws {
        func free(_ database: Database) throws -> Int {
            try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
        }
        // 2 is INCREMENTAL.
        let (mode, total) = try queue.writeWithoutTransaction { database in
            (try Int.fetchOne(database, sql: "PRAGMA auto_vacuum"), try free(database))
        }
        guard mode == 2 else { return }
        var left = total
        // What commits free meanwhile is for the next time.
        for _ in 0...total / Self.pagesPerCompaction where left > 0 {
            try queue.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA incremental_vacuum(\(Self.pagesPerCompaction))")
                left = try free(database)
            }
            try progress(WorkProgress(done: max(total - left, 0), total: total))
        }
    }

    /// Plays the log in and cuts it off, where no reader needs it any more.
    private func truncateLog(until cancellation: BlockingWork.Cancellation) throws {
        // First beside the commits, so that they wait for the little that is left.
        let beside = try DatabaseQueue(path: file, configuration: Self.configuration(readonly: false))
        try beside.writeWithoutTransaction { database in
            try Self.step(on: database, of: beside, until: cancellation) {
                _ = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(PASSIVE)")
            }
        }
        try beside.close()
        try cancellation.check()
        try queue.writeWithoutTransaction { database in
            sqlite3_busy_timeout(database.sqliteConnection, 0)
            defer { sqlite3_busy_timeout(database.sqliteConnection, 5000) }
            _ = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
    }
}
