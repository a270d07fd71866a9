import Foundation
import RocksDBStorage
import SQLiteStorage
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

@testable import EmbeddedStorage

/// A data directory's store, whichever engine keeps it.
struct EmbeddedStoreTests {
    private struct Stopped: Error {}

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func store(_ kind: EmbeddedEngineKind? = nil) -> EmbeddedStore {
        EmbeddedStore(in: directory.path, engine: kind)
    }

    /// Rows in all tables, more than one commit of a migration has.
    private func fill(_ engine: any EmbeddedEngine) throws {
        try engine.write { writer in
            for table in StorageTable.allCases {
                try writer.put(table, [], [])
                for key in 0..<600 {
                    let bytes = [UInt8(key >> 8), UInt8(key & 255)]
                    try writer.put(table, bytes, [UInt8](repeating: bytes[1], count: key * 10))
                }
            }
        }
    }

    private func rows(_ engine: any EmbeddedEngine) throws -> [[UInt8]] {
        try engine.makeReadSession().read { reader in
            var rows: [[UInt8]] = []
            for table in StorageTable.allCases {
                try reader.scan(table, .all, reverse: false) { key, value in
                    rows += [key, value]
                    return true
                }
            }
            return rows
        }
    }

    private func rows(_ store: EmbeddedStore) throws -> [[UInt8]] {
        let engine = try store.open()
        defer { try? engine.close() }
        return try rows(engine)
    }

    @Test(arguments: EmbeddedEngineKind.allCases)
    func theEngineThatIsThereIsKept(kind: EmbeddedEngineKind) throws {
        try store(kind).open().close()
        try store().open().close()
        #expect(try store().present() == kind)
        let other = try #require(EmbeddedEngineKind.allCases.first { $0 != kind })
        let error = storageRefusal { _ = try store(other).open() }
        #expect(error?.message.contains("data migrate") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 1)
    }

    /// As while its disk isn't mounted: another store would take the commits.
    @Test(arguments: EmbeddedEngineKind.allCases)
    func noStoreIsBegunInPlaceOfOneThatALinkLeadsTo(kind: EmbeddedEngineKind) throws {
        let path = store().path(kind)
        try EmbeddedStore.open(kind, at: path).close()
        let elsewhere = directory.file("elsewhere")
        try FileManager.default.moveItem(atPath: path, toPath: elsewhere)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere)
        try store().open().close()
        try FileManager.default.moveItem(atPath: elsewhere, toPath: elsewhere + ".unmounted")
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        for engine in [nil, kind] {
            let error = storageRefusal { _ = try store(engine).open() }
            #expect(error?.message.contains("mount the disk") == true)
        }
        // It would take the link's place, and nothing would tell where the data is.
        let error = storageRefusal { _ = try store().restore(elsewhere + ".unmounted") { _ in } }
        #expect(error?.message.contains("mount the disk") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == names)
        try FileManager.default.moveItem(atPath: elsewhere + ".unmounted", toPath: elsewhere)
        try store().open().close()
        #expect(try store().present() == kind)
    }

    @Test func twoStoresAreRefused() throws {
        for kind in EmbeddedEngineKind.allCases { try EmbeddedStore.open(kind, at: store().path(kind)).close() }
        #expect(storageRefusal { _ = try store().open() }?.message.contains("both there") == true)
    }

    @Test(arguments: EmbeddedEngineKind.allCases)
    func aMigrationMovesEachRow(kind: EmbeddedEngineKind) throws {
        let other = try #require(EmbeddedEngineKind.allCases.first { $0 != kind })
        let engine = try store(kind).open()
        try fill(engine)
        let before = try rows(engine)
        try engine.close()
        var progress = 0
        let (count, aside) = try store().migrate(to: other) { progress = $0.done }
        #expect(count == before.count / 2)
        #expect(progress == 2 * count)
        #expect(try store().present() == other)
        #expect(try rows(store(other)) == before)
        let old = try EmbeddedStore.open(kind, at: aside)
        #expect(try rows(old) == before)
        try old.close()
        #expect(storageRefusal { _ = try store().migrate(to: other) { _ in } }?.message.contains("already") == true)
        #expect(storageRefusal { _ = try store().migrate(to: nil) { _ in } }?.message.contains("--engine") == true)
    }

    @Test(arguments: EmbeddedEngineKind.allCases, [1, 3000, 7000])
    func aMigrationBrokenOffChangesNothing(kind: EmbeddedEngineKind, after rows: Int) throws {
        let other = try #require(EmbeddedEngineKind.allCases.first { $0 != kind })
        let engine = try store(kind).open()
        try fill(engine)
        let before = try self.rows(engine)
        try engine.close()
        #expect(throws: Stopped.self) {
            try store().migrate(to: other) { if $0.done >= rows { throw Stopped() } }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 1)
        // A killed process leaves its draft, which the next one removes.
        let draft = store().path(other) + ".migrating"
        let half = try EmbeddedStore.open(other, at: draft)
        try half.write { try $0.put(.users, [9, 9, 9], [9]) }
        try half.close()
        #expect(try self.rows(store(kind)) == before)
        #expect(!StoreFile.exists(draft))
        _ = try store().migrate(to: other) { _ in }
        #expect(try self.rows(store(other)) == before)
    }

    /// A process that dies after the new store was decided leaves the directory at one of these steps.
    @Test(arguments: EmbeddedEngineKind.allCases, 0...2)
    func aDecidedMigrationIsFinishedByTheNextProcess(kind: EmbeddedEngineKind, step: Int) throws {
        let other = try #require(EmbeddedEngineKind.allCases.first { $0 != kind })
        let old = try store(kind).open()
        try old.write { try $0.put(.users, [1], [1]) }
        try old.close()
        let new = try EmbeddedStore.open(other, at: store().path(other) + ".restored")
        try new.write { try $0.put(.users, [1], [2]) }
        try new.close()
        if step >= 1 { rename(store().path(kind), directory.file("moved")) }
        if step >= 2 { rename(store().path(other) + ".restored", store().path(other)) }
        #expect(try rows(store()) == [[1], [2]])
        #expect(try store().present() == other)
    }

    /// A killed process leaves the last commits in a log beside SQLite's file. The one that moves both may be killed, too.
    @Test(arguments: EmbeddedEngineKind.allCases, 0...2)
    func aKilledStoreIsMovedAsideWithItsLog(by kind: EmbeddedEngineKind, step: Int) throws {
        let path = store().path(.sqlite)
        let old = try store(.sqlite).open()
        try old.write { try $0.put(.users, [1], [1]) }
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: directory.file("killed" + suffix))
        }
        try old.close()
        for suffix in ["", "-wal"] { rename(directory.file("killed" + suffix), path + suffix) }
        let replacement = StoreFile.restored(store().path(kind))
        let new = try EmbeddedStore.open(kind, at: replacement)
        try new.write { try $0.put(.users, [1], [2]) }
        try new.close()
        let aside = StoreFile.aside(path, for: replacement)
        if step >= 1 { try StoreFile.move(path, to: aside) }
        if step >= 2 { try StoreFile.move(path + "-wal", to: aside + "-wal") }
        #expect(try store().finishReplacement() == aside)
        #expect(try rows(store()) == [[1], [2]])
        let replaced = try EmbeddedStore.open(.sqlite, at: aside)
        #expect(try rows(replaced) == [[1], [1]])
        try replaced.close()
    }

    @Test(arguments: EmbeddedEngineKind.allCases, EmbeddedEngineKind.allCases)
    func aBackupOfAnyEngineIsRestored(kind: EmbeddedEngineKind, over present: EmbeddedEngineKind) throws {
        let backup = directory.file("backup")
        let place = try TemporaryDirectory()
        let source = try EmbeddedStore(in: place.path, engine: kind).open()
        try source.write { try $0.put(.users, [1], [1]) }
        _ = try source.copy(to: backup, replacing: false) { _ in }
        try source.close()
        let engine = try store(present).open()
        try engine.write { try $0.put(.users, [1], [2]) }
        try engine.close()
        let aside = try #require(try store().restore(backup) { _ in })
        #expect(aside.hasPrefix(store().path(present)))
        #expect(try rows(store()).suffix(2) == [[1], [1]])
        #expect(try store().present() == kind)
        if kind != present {
            let error = storageRefusal { _ = try store(present).restore(backup) { _ in } }
            #expect(error?.message.contains("data migrate") == true)
        }
    }

    @Test func itsFilesAreKnown() throws {
        let names = ["documents.sqlite", "documents.sqlite-wal", "documents.rocksdb/000004.log", "documents.rocksdb"]
        try store(.rocksdb).open().close()
        for name in names { #expect(store().isPart(directory.file(name)), "\(name)") }
        for name in ["documents.json", "backup", "..", "documents.rocksdb/..", "missing/..", "../x", "/a/../.."] {
            #expect(!store().isPart(directory.file(name)), "\(name)")
        }
        for name in [
            "documents.rocksdb/../documents.sqlite", "documents.rocksdb/.", "documents.rocksdb/../documents.rocksdb/x",
        ] {
            #expect(store().isPart(directory.file(name)), "\(name)")
        }
        let link = directory.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: store().path(.rocksdb))
        #expect(store().isPart(link + "/../documents.sqlite"))
    }
}
