import TestSupport
import DocumentModel
@testable import SQLiteStorage
import TestSupport
import StorageEngine
import StoreTestSupport
import Foundation
import GRDB
import Testing

struct BackupTests {
    private let directory: TemporaryDirectory
    private let file: String
    private let backup: String

    init() throws {
        directory = try TemporaryDirectory()
        file = directory.file("documents.db")
        backup = directory.file("backup.db")
    }

    /// The values of a store, each once.
    private func values(_ file: String) throws -> Set<UInt8> {
        let engine = try SQLiteEngine(file: file)
        defer { try? engine.close() }
        return try engine.values()
    }

    private func restoreRefusal(_ backup: String) -> StorageError? {
        storageRefusal { try SQLiteRestore.prepare(backup, for: file) { _ in } }
    }

    @Test(.enabled(if: geteuid() == 0, "skipped: only root can give files away"))
    func aRestoredStoreBelongsToWhomItsDirectoryBelongs() throws {
        let engine = try SQLiteEngine(file: file)
        try engine.fill(1)
        _ = try engine.copy(to: backup, replacing: false) { _ in }
        try engine.close()
        let folder = directory.file("folder")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        #expect(chown(folder, 65_534, 65_534) == 0)
        try SQLiteRestore.prepare(backup, for: folder + "/old.db") { _ in }
        try SQLiteEngine(file: folder + "/new.db").close()
        for name in ["old.db.restored", "new.db"] {
            let owner = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)[.ownerAccountID]
            #expect((owner as? NSNumber)?.intValue == 65_534)
        }
    }

    @Test func commitsAreNotHeldUpByACopyUnderWay() throws {
        let engine = try SQLiteEngine(file: file)
        try engine.fill(1, count: 3000)
        var commits = 0
        _ = try engine.copy(to: backup, replacing: false) { _ in
            commits += 1
            try engine.fill(UInt8(commits % 200) + 2, count: 10)
        }
        #expect(commits >= 3)
        #expect(try values(backup) == [1])
        try engine.close()
    }

    @Test func aBackupGetsNoLogThatAnotherDatabaseHasLeft() throws {
        let engine = try SQLiteEngine(file: file)
        try engine.fill(1)
        // As an operator copies them after a kill: the latest commits are in the log.
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: file + suffix, toPath: backup + suffix)
        }
        #expect((StoreFile.size(backup + "-wal") ?? 0) > 0)
        try engine.fill(2)
        _ = try engine.copy(to: backup, replacing: true) { _ in }
        #expect(!StoreFile.exists(backup + "-wal"))
        #expect(try values(backup) == [2])

        let log = directory.file("other.db-wal")
        try Data("log".utf8).write(to: URL(fileURLWithPath: log))
        let error = storageRefusal { _ = try engine.copy(to: directory.file("other.db"), replacing: false) { _ in } }
        #expect(error?.message.contains("\(log) is there already") == true)
        #expect(!StoreFile.exists(directory.file("other.db")))
        try engine.close()
    }

    @Test func aPreparedBackupIsAStore() throws {
        let engine = try SQLiteEngine(file: file)
        try engine.fill(1)
        _ = try engine.copy(to: backup, replacing: false) { _ in }
        try engine.fill(2)
        try engine.close()
        try SQLiteRestore.prepare(backup, for: file) { _ in }
        #expect(try values(file) == [2])
        #expect(try values(backup) == [1])
        #expect(try values(StoreFile.restored(file)) == [1])
    }

    @Test func aBackupThatIsNoneChangesNothing() throws {
        let engine = try SQLiteEngine(file: file)
        try engine.fill(1)
        _ = try engine.copy(to: backup, replacing: false) { _ in }
        try engine.close()
        let whole = try #require(FileManager.default.contents(atPath: backup))
        func restoring(_ bytes: Data) throws -> StorageError? {
            try bytes.write(to: URL(fileURLWithPath: backup))
            return restoreRefusal(backup)
        }
        #expect(try restoring(Data(repeating: 3, count: 5000))?.kind == .damaged)
        #expect(try restoring(whole.prefix(whole.count / 2))?.kind == .damaged)
        var torn = whole
        for index in whole.count / 2..<whole.count / 2 + 5000 { torn[index] = 0xEE }
        #expect(try restoring(torn)?.kind == .damaged)
        try whole.write(to: URL(fileURLWithPath: backup))
        let queue = try DatabaseQueue(path: backup)
        try queue.write { try $0.execute(sql: "PRAGMA user_version = 99") }
        try queue.close()
        #expect(restoreRefusal(backup)?.kind == .newer)
        #expect(restoreRefusal(directory.file("none")) != nil)
        #expect(try values(file) == [1])
        let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(left.sorted() == ["backup.db", "documents.db"])
    }
}
