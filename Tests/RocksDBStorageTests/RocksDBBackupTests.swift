import Foundation
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

@testable import RocksDBStorage

struct RocksDBBackupTests {
    private let directory: TemporaryDirectory
    private let store: String
    private let backup: String

    init() throws {
        directory = try TemporaryDirectory()
        store = directory.file("documents.rocksdb")
        backup = directory.file("backup")
    }

    private func values(_ store: String) throws -> Set<UInt8> {
        let engine = try RocksDBEngine(directory: store)
        defer { try? engine.close() }
        return try engine.values()
    }

    @Test func aDirectoryThatIsNoBackupIsNeverReplaced() throws {
        let engine = try RocksDBEngine(directory: store)
        try engine.fill(1)
        try FileManager.default.createDirectory(atPath: backup, withIntermediateDirectories: false)
        let nightly = backup + "/nightly"
        _ = try engine.copy(to: nightly, replacing: false) { _ in }
        for target in [backup, directory.path] {
            let error = storageRefusal { _ = try engine.copy(to: target, replacing: true) { _ in } }
            #expect(error?.message.contains("name") == true, "\(target)")
        }
        #expect(try values(nightly) == [1])
        try engine.fill(2)
        _ = try engine.copy(to: nightly, replacing: true) { _ in }
        #expect(try values(nightly) == [2])
        #expect(try FileManager.default.contentsOfDirectory(atPath: backup) == ["nightly"])
        try engine.close()
    }

    /// As of a backup that root has made before. The command of a running host would only see the connection end.
    @Test func aBackupOfAnotherUserIsRefusedWithASentence() throws {
        let engine = try RocksDBEngine(directory: store)
        try engine.fill(1)
        _ = try engine.copy(to: backup, replacing: false) { _ in }
        try FileManager.default.setAttributes([.posixPermissions: 0o000], ofItemAtPath: backup)
        try withoutPrivileges(in: directory) { _ in
            let error = storageRefusal { _ = try engine.copy(to: backup, replacing: true) { _ in } }
            #expect(error?.kind == .unavailable)
            #expect(error?.message.hasPrefix("\(backup) can't be read") == true)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: backup)
        #expect(try values(backup) == [1])
        try engine.close()
    }

    /// On a full disk, for example.
    @Test func aStoreThatTakesNoCommitsIsBackedUp() throws {
        let engine = try RocksDBEngine(directory: store)
        try engine.fill(1)
        engine.handle.stop(after: .max, because: StorageError(.damaged, "a table is damaged"))
        _ = try engine.copy(to: backup, replacing: false) { _ in }
        #expect(try values(backup) == [1])
        try engine.close()
    }

    @Test func aPreparedBackupIsAStoreThatBeginsANewHistory() throws {
        let engine = try RocksDBEngine(directory: store)
        try engine.fill(1)
        try engine.write { try $0.put(.changes, [1], [1]) }
        _ = try engine.copy(to: backup, replacing: false) { _ in }
        try engine.fill(2)
        try engine.close()
        try RocksDBRestore.prepare(backup, for: store) { _ in }
        #expect(try values(store) == [2])
        #expect(try values(backup) == [1])
        let restored = try RocksDBEngine(directory: StoreFile.restored(store))
        try restored.makeReadSession().read { reader throws in
            #expect(try reader.get(.meta, RestoredMark.key) == [1])
            #expect(try reader.count(.changes, .all) == 0)
        }
        try restored.close()
        #expect(try values(StoreFile.restored(store)) == [1])
    }

    @Test func aBackupThatIsNoneChangesNothing() throws {
        let engine = try RocksDBEngine(directory: store)
        try engine.fill(1)
        _ = try engine.copy(to: backup, replacing: false) { _ in }
        try engine.close()
        func restoring() -> StorageError? { storageRefusal { try RocksDBRestore.prepare(backup, for: store) { _ in } } }
        let names = try FileManager.default.contentsOfDirectory(atPath: backup)
        let table = backup + "/" + (try #require(names.first { $0.hasSuffix(".sst") }))
        let whole = try #require(FileManager.default.contents(atPath: table))
        var torn = whole
        for index in 100..<200 { torn[index] ^= 0xEE }
        for bytes in [torn, whole.prefix(whole.count / 2), Data()] {
            try bytes.write(to: URL(fileURLWithPath: table))
            let error = restoring()
            #expect(error?.kind == .damaged)
            #expect(error?.message.contains(backup) == true)
        }
        try FileManager.default.removeItem(atPath: table)
        #expect(restoring()?.kind == .damaged)
        try FileManager.default.removeItem(atPath: backup)
        #expect(restoring()?.message.contains(backup) == true)
        #expect(try values(store) == [1])
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["documents.rocksdb"])
    }
}
