import Foundation
import GRDB
@testable import SQLiteStorage
import StorageEngine
import TestSupport
import Testing

/// What no kill of a process can show: that commits wait for the disk.
struct DurabilityTests {
    /// SQLite's number for `FULL`.
    private static let full = 2

    @Test func theStoresOwnConnectionSyncsEachCommit() throws {
        let directory = try TemporaryDirectory()
        let engine = try SQLiteEngine(file: directory.file("documents.db"))
        let level = try engine.queue.inDatabase { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
        #expect(level == Self.full)
        try engine.close()
    }

    /// A full disk may have no room for it.
    @Test func openingAStoreThatIsThereWritesNothing() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        try SQLiteEngine(file: file).close()
        let queue = try DatabaseQueue(path: file)
        let (pageSize, autoVacuum) = try queue.inDatabase { database in
            (try Int.fetchOne(database, sql: "PRAGMA page_size"), try Int.fetchOne(database, sql: "PRAGMA auto_vacuum"))
        }
        try queue.close()
        #expect(pageSize == 8192)
        // SQLite's number for `INCREMENTAL`.
        #expect(autoVacuum == 2)
        let before = try #require(FileManager.default.contents(atPath: file))
        try SQLiteEngine(file: file).close()
        let isSame = FileManager.default.contents(atPath: file) == before
        #expect(isSame)
    }

    @Test func aLogThatCannotBeReadIsNamed() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        try SQLiteEngine(file: file).close()
        try FileManager.default.createDirectory(atPath: file + "-wal", withIntermediateDirectories: false)
        let error = #expect(throws: StorageError.self) { try SQLiteFileCheck.check(file) }
        #expect(error?.message == "the log \(file)-wal of the store's file can't be read; check its permissions")
    }

    /// A process that is killed while it checkpoints leaves a file that lacks pages which are in the log. SQLite has
    /// that beside the file, and not beside a link.
    @Test func theLogOfAFileThatALinkLeadsToIsFound() throws {
        let directory = try TemporaryDirectory()
        let (file, link) = (directory.file("there.db"), directory.file("documents.db"))
        let engine = try SQLiteEngine(file: file)
        try engine.write { writer in
            for key in 0..<100 { try writer.put(.documents, [UInt8(key)], [UInt8](repeating: 1, count: 1_000)) }
        }
        let log = try #require(FileManager.default.contents(atPath: file + "-wal"))
        try engine.close()
        let whole = try #require(FileManager.default.contents(atPath: file))
        try whole.dropLast(8192).write(to: URL(fileURLWithPath: file))
        try log.write(to: URL(fileURLWithPath: file + "-wal"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        let opened = try SQLiteEngine(file: link)
        let count = try opened.makeReadSession().read { try $0.count(.documents, .all) }
        #expect(count == 100)
        try opened.close()
    }

    /// A store that wasn't closed has its last commits in the log alone.
    @Test func whatALinkLeadsToIsRestoredWithItsLog() throws {
        let directory = try TemporaryDirectory()
        let (there, link, file) = (directory.file("there.db"), directory.file("link"), directory.file("documents.db"))
        let engine = try SQLiteEngine(file: directory.file("open.db"))
        try engine.write { writer in for key in 0..<100 { try writer.put(.documents, [UInt8(key)], [1]) } }
        for suffix in ["", "-wal"] {
            let part = try #require(FileManager.default.contents(atPath: directory.file("open.db") + suffix))
            try part.write(to: URL(fileURLWithPath: there + suffix))
        }
        try engine.close()
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: there)
        try SQLiteRestore.prepare(link, for: file) { _ in }
        let restored = try SQLiteEngine(file: StoreFile.restored(file))
        let count = try restored.makeReadSession().read { try $0.count(.documents, .all) }
        #expect(count == 100)
        try restored.close()
    }

    @Test func aSQLiteFileSyncsEachCommit() async throws {
        let directory = try TemporaryDirectory()
        let file = try SQLiteFile(directory.file("data.sqlite"), migrations: [])
        let level = try await file.write { try $0.rows("PRAGMA synchronous") }
        #expect(level == [[.integer(Int64(Self.full))]])
        try file.close()
    }
}
