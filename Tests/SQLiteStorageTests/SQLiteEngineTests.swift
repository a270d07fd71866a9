import TestSupport
@testable import SQLiteStorage
import TestSupport
import StorageEngine
import StoreTestSupport
import Dispatch
import Foundation
import GRDB
import Synchronization
import Testing

struct SQLiteEngineTests {
    private func refusal(_ file: String) -> StorageError? {
        storageRefusal { try SQLiteEngine(file: file).close() }
    }

    /// Closing has removed the log and its index, whose room others have taken.
    @Test(.enabled(if: SmallDisk.isPossible, "skipped: this user may not mount a disk for it"))
    func aDiskWithoutRoomForTheIndexOfTheLogIsFull() throws {
        let disk = try SmallDisk(megabytes: 4)
        let file = disk.path + "/documents.db"
        let engine = try SQLiteEngine(file: file)
        try engine.write { writer in try writer.put(.meta, [1], [2]) }
        try engine.close()
        try disk.fill("filler")
        let error = try #require(refusal(file))
        #expect(error.kind == .unavailable)
        #expect(error.message.contains("is full"))
        try FileManager.default.removeItem(atPath: disk.path + "/filler")
        #expect(refusal(file) == nil)
    }

    @Test(arguments: [1, 2]) func anOlderFileIsBroughtUpWithAllItHolds(version: Int) throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        // As that version made it, its connection closed.
        let queue = try DatabaseQueue(path: file)
        try queue.writeWithoutTransaction { database in
            try database.execute(
                sql: """
                    PRAGMA journal_mode = WAL;
                    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                    CREATE TABLE documents (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL);
                    CREATE TABLE "index" (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
                    CREATE TABLE completions (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
                    CREATE TABLE meta (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
                    INSERT INTO grdb_migrations VALUES ('1 tables');
                    INSERT INTO documents VALUES (x'01', x'0a0b');
                    INSERT INTO "index" VALUES (x'02', x'0c');
                    INSERT INTO completions VALUES (x'03', x'0d');
                    INSERT INTO meta VALUES (x'04', x'0e');
                    PRAGMA application_id = 0x666E7374;
                    PRAGMA user_version = 1;
                    """)
            guard version == 2 else { return }
            try database.execute(
                sql: """
                    CREATE TABLE changes (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL);
                    INSERT INTO grdb_migrations VALUES ('2 changes');
                    INSERT INTO changes VALUES (x'06', x'10');
                    PRAGMA user_version = 2;
                    """)
        }
        try queue.close()
        for _ in 1...2 {
            let engine = try SQLiteEngine(file: file)
            try engine.makeReadSession().read { reader throws in
                #expect(try reader.get(.documents, [1]) == [10, 11])
                #expect(try reader.get(.index, [2]) == [12])
                #expect(try reader.get(.completions, [3]) == [13])
                #expect(try reader.get(.meta, [4]) == [14])
                #expect(try reader.get(.changes, [6]) == (version == 2 ? [16] : nil))
            }
            try engine.write { writer in
                let newer: [StorageTable] = [.changes, .events, .deliveries, .users, .tree]
                for table in newer { try writer.put(table, [5], [15]) }
            }
            try engine.close()
        }
        let newest = try DatabaseQueue(path: file).read { try Int.fetchOne($0, sql: "PRAGMA user_version") }
        #expect(newest == SQLiteSchema.version)
    }

    // MARK: Large values

    /// SQLite reads all of a long row each time that a search comes by.
    @Test func largeValuesAreApartFromTheKeysOfATree() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        let engine = try SQLiteEngine(file: file)
        let large = [UInt8](repeating: 1, count: 1_000_000)
        try engine.write { writer in
            for table in [StorageTable.tree, .completions] {
                try writer.put(table, [1], [5])
                try writer.put(table, [2], large)
                try writer.put(table, [3], large)
                // The key is what is long.
                try writer.put(table, [UInt8](repeating: 4, count: 5_000), [6])
            }
        }
        try engine.write { writer in
            for table in [StorageTable.tree, .completions] {
                try writer.delete(table, [2])
                try writer.put(table, [3], [7])
                try writer.put(table, [1], large)
            }
        }
        try engine.close()
        let queue = try DatabaseQueue(path: file)
        for table in ["tree", "completions"] {
            let stored = try queue.read {
                try String.fetchAll($0, sql: "SELECT typeof(value) FROM \(table) ORDER BY key")
            }
            #expect(stored == ["integer", "blob", "blob"])
            let apart = try queue.read { try Int.fetchAll($0, sql: "SELECT length(value) FROM \(table)_large") }
            #expect(apart == [large.count])
        }
        try queue.close()
    }

    @Test func largeValuesOfAnOlderFileAreTakenOutOfTheTree() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        try SQLiteEngine(file: file).close()
        let values: [Int] = [10, 100, 1_500, 3_000, 100_000]
        let queue = try DatabaseQueue(path: file)
        try queue.writeWithoutTransaction { database in
            // As version 6 left it.
            try database.execute(
                sql: """
                    DROP TABLE tree_large;
                    DROP TABLE completions_large;
                    DELETE FROM grdb_migrations WHERE identifier = '7 large values';
                    PRAGMA user_version = 6;
                    """)
            for (key, count) in values.enumerated() {
                for table in ["tree", "completions"] {
                    try database.execute(
                        sql: "INSERT INTO \(table) VALUES (?, ?)",
                        arguments: [Data([UInt8(key)]), Data(repeating: 7, count: count)])
                }
            }
        }
        try queue.close()
        for _ in 0..<2 {
            let engine = try SQLiteEngine(file: file)
            for table in [StorageTable.tree, .completions] {
                try engine.makeReadSession().read { reader throws in
                    var found: [Int] = []
                    try reader.scan(table, .all, reverse: false) { key, value in
                        #expect(value.allSatisfy { $0 == 7 })
                        found.append(value.count)
                        return true
                    }
                    #expect(found == values)
                }
            }
            try engine.close()
        }
        let moved = try DatabaseQueue(path: file).read { database in
            try Int.fetchAll(database, sql: "SELECT length(value) FROM tree_large ORDER BY key")
        }
        #expect(moved == [3_000, 100_000])
    }

    @Test func aLostLargeValueIsDamage() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        let engine = try SQLiteEngine(file: file)
        try engine.write { for key in 0..<4 { try $0.put(.tree, [UInt8(key)], [UInt8](repeating: 1, count: 5_000)) } }
        let queue = try DatabaseQueue(path: file)
        try queue.write { database in
            try database.execute(sql: "DELETE FROM tree_large WHERE key = x'01'; DELETE FROM tree WHERE key >= x'02'")
        }
        try engine.makeReadSession().read { reader throws in
            #expect(try reader.get(.tree, [0])?.count == 5_000)
            let error = #expect(throws: StorageError.self) { _ = try reader.get(.tree, [1]) }
            #expect(error?.kind == .damaged)
            #expect(error?.message.contains("a large value of tree is missing") == true)
        }
        var findings: [String] = []
        try engine.findDamage {
            findings.append($0)
            return true
        }
        #expect(findings == ["1 large values of tree are missing", "2 large values of tree belong to no row"])
        try engine.close()
    }

    private func filled() throws -> (TemporaryDirectory, String) {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        let engine = try SQLiteEngine(file: file)
        try engine.write { for i in 0..<200 { try $0.put(.documents, [UInt8(i)], [UInt8](repeating: 7, count: 1000)) } }
        try engine.close()
        return (directory, file)
    }

    /// Else a value of a kilobyte takes four on the disk, and in the memory of each reader.
    @Test func valuesOfAKilobyteShareThePagesOfATree() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        let engine = try SQLiteEngine(file: file)
        try engine.write { writer in
            for i in 0..<2000 {
                try writer.put(.tree, [1, UInt8(i >> 8), UInt8(i & 255)], [UInt8](repeating: 7, count: 1000))
            }
        }
        try engine.close()
        #expect(try #require(StoreFile.size(file)) < 2000 * 1000 * 3 / 2)
        withExtendedLifetime(directory) {}
    }

    /// Outside of a transaction each row would be stored by itself, and a crash could leave half of the batch.
    @Test func aBatchWhoseTransactionSQLiteHasEndedIsNotStored() throws {
        let directory = try TemporaryDirectory()
        let engine = try SQLiteEngine(file: directory.file("documents.db"))
        func stored() throws -> [[UInt8]?] {
            try engine.makeReadSession().read { reader throws in
                try (0..<4).map { try reader.get(.documents, [UInt8($0)]) }
            }
        }
        try engine.write { try $0.put(.documents, [0], [1]) }
        let refusal = storageRefusal {
            try engine.write { writer in
                try writer.put(.documents, [1], [1])
                // As SQLite does itself after an error that the body passes over.
                try engine.tables.run("ROLLBACK")
                try writer.put(.documents, [2], [1])
            }
        }
        #expect(refusal?.kind == .unavailable)
        #expect(try stored() == [[1], nil, nil, nil])
        // The next batch is whole, and has none of its rows.
        try engine.write { try $0.put(.documents, [3], [1]) }
        #expect(try stored() == [[1], nil, nil, [1]])
        try engine.close()
    }

    @Test func dataIsThereAfterReopening() throws {
        let (directory, file) = try filled()
        let engine = try SQLiteEngine(file: file)
        let value = try engine.makeReadSession().read { try $0.get(.documents, [150]) }
        #expect(value?.count == 1000)
        try engine.close()
        withExtendedLifetime(directory) {}
    }

    @Test(arguments: [0.0, 0.0001, 0.3, 0.9])
    func aTruncatedFileIsRefused(part: Double) throws {
        let (directory, file) = try filled()
        let bytes = try #require(FileManager.default.contents(atPath: file))
        try bytes.prefix(Int(Double(bytes.count) * part)).write(to: URL(fileURLWithPath: file))
        let error = try #require(refusal(file))
        #expect(error.kind == .damaged)
        #expect(error.message.contains(file))
        withExtendedLifetime(directory) {}
    }

    /// As a kill leaves it: the file, and a log that was not played in.
    private func killed(cutting pages: Int) throws -> (TemporaryDirectory, String) {
        let (original, source) = try filled()
        let engine = try SQLiteEngine(file: source)
        try engine.write { try $0.put(.documents, [0], [1, 2, 3]) }
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        let database = try #require(FileManager.default.contents(atPath: source))
        let log = try #require(FileManager.default.contents(atPath: source + "-wal"))
        try database.dropLast(pages * 8192).write(to: URL(fileURLWithPath: file))
        try log.write(to: URL(fileURLWithPath: file + "-wal"))
        try engine.close()
        withExtendedLifetime(original) {}
        return (directory, file)
    }

    @Test func whatAKillLeftIsOpenedWithItsLog() throws {
        let (directory, file) = try killed(cutting: 0)
        let engine = try SQLiteEngine(file: file)
        #expect(try engine.makeReadSession().read { try $0.get(.documents, [0]) } == [1, 2, 3])
        try engine.close()
        withExtendedLifetime(directory) {}
    }

    /// SQLite would take the log's pages for those of a new store.
    @Test func noStoreIsBegunBesideALogOfAnother() throws {
        let (directory, file) = try killed(cutting: 0)
        let original = try #require(FileManager.default.contents(atPath: file))
        let log = FileManager.default.contents(atPath: file + "-wal")
        try FileManager.default.removeItem(atPath: file)
        let error = try #require(refusal(file))
        #expect(error.kind == .damaged && error.message.contains(file + "-wal"))
        #expect(!FileManager.default.fileExists(atPath: file))
        #expect(FileManager.default.contents(atPath: file + "-wal") == log)
        // Put back, it has all.
        try original.write(to: URL(fileURLWithPath: file))
        let engine = try SQLiteEngine(file: file)
        #expect(try engine.makeReadSession().read { try $0.get(.documents, [0]) } == [1, 2, 3])
        try engine.close()
        withExtendedLifetime(directory) {}
    }

    @Test(arguments: [1, 10]) func aTruncatedFileIsRefusedBesideALogToo(pages: Int) throws {
        let (directory, file) = try killed(cutting: pages)
        let before = FileManager.default.contents(atPath: file)
        #expect(refusal(file)?.kind == .damaged)
        #expect(FileManager.default.contents(atPath: file) == before)
        withExtendedLifetime(directory) {}
    }

    /// Reads that overlap keep SQLite from going back to the start of its log by itself.
    @Test(.endsHangs) func theLogIsShortenedAlthoughEachCommitMeetsARead() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        let engine = try SQLiteEngine(file: file, longLog: 1 << 20)
        let value = [UInt8](repeating: 7, count: 100_000)
        let isOver = Atomic(false)
        defer { isOver.store(true, ordering: .relaxed) }
        var (size, isShorter) = (0, false)
        for number in 1...200 where !isShorter {
            let (began, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            Thread.detachNewThread {
                defer {
                    began.signal()
                    ended.signal()
                }
                try? engine.makeReadSession().read { reader in
                    _ = try reader.get(.meta, [1])
                    began.signal()
                    // Ends after the commit, which may be waiting for it.
                    let later = try engine.makeReadSession()
                    while !isOver.load(ordering: .relaxed),
                        try later.read({ try $0.get(.meta, [1]) }) != [UInt8(number)]
                    {}
                }
            }
            began.wait()
            try engine.write { writer in
                try writer.put(.meta, [1], [UInt8(number)])
                try writer.put(.documents, [1], value)
            }
            engine.settle()
            ended.wait()
            let now = StoreFile.size(file + "-wal") ?? 0
            (size, isShorter) = (now, now < size)
        }
        #expect(isShorter)
        #expect(try engine.makeReadSession().read { try $0.get(.documents, [1]) } == value)
        try engine.close()
        withExtendedLifetime(directory) {}
    }

    #if os(Linux)
        /// Otherwise a program that reads the file would remove the log when it closes it.
        @Test func theFileIsLockedAsLongAsItIsOpen() throws {
            let directory = try TemporaryDirectory()
            let file = directory.file("documents.db")
            for number in 1...2 as ClosedRange<UInt8> {
                let engine = try SQLiteEngine(file: file)
                try engine.write { try $0.put(.documents, [number], [number]) }
                let session = try engine.makeReadSession()
                #expect(try session.read { try $0.get(.documents, [number]) } == [number])
                _ = try engine.copy(to: directory.file("backup"), replacing: true) { _ in }
                try engine.findDamage { _ in true }
                _ = try engine.compact(.steps) { _ in }
                let inode = try #require(
                    try FileManager.default.attributesOfItem(atPath: file)[.systemFileNumber] as? Int)
                let locks = try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n")
                #expect(locks.contains { $0.contains(" POSIX ") && $0.contains(":\(inode) ") })
                withExtendedLifetime(session) {}
                try engine.close()
            }
        }
    #endif

    @Test func aFileThatIsNoDatabaseIsRefused() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        try Data(repeating: 65, count: 8192).write(to: URL(fileURLWithPath: file))
        #expect(refusal(file)?.kind == .damaged)
    }

    @Test func anotherProgramsDatabaseIsRefused() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        let queue = try DatabaseQueue(path: file)
        try queue.write { try $0.execute(sql: "CREATE TABLE t (a)") }
        try queue.close()
        #expect(refusal(file)?.message.contains("something else") == true)
    }

    @Test func aNewerFileIsRefused() throws {
        let (directory, file) = try filled()
        let queue = try DatabaseQueue(path: file)
        try queue.write { try $0.execute(sql: "PRAGMA user_version = 99") }
        try queue.close()
        let error = try #require(refusal(file))
        #expect(error.kind == .newer)
        #expect(error.message.contains("99"))
        withExtendedLifetime(directory) {}
    }

    @Test func damageFoundLaterIsAnErrorAndNoCrash() throws {
        let (directory, file) = try filled()
        var bytes = try #require(FileManager.default.contents(atPath: file))
        // Behind the first pages of the tables, which are looked at when the file is opened.
        for index in (bytes.count / 2)..<bytes.count { bytes[index] = 0xEE }
        try bytes.write(to: URL(fileURLWithPath: file))
        let engine = try SQLiteEngine(file: file)
        #expect(throws: StorageError.self) {
            try engine.makeReadSession().read { reader throws in
                try reader.scan(.documents, .all, reverse: false) { _, _ in true }
            }
        }
        withExtendedLifetime(directory) {}
    }
}
