import EmbeddedStorage
import Foundation
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// What holds for the backups of each engine.
struct BackupConformanceTests {
    private struct Stopped: Error {}

    private let directory: TemporaryDirectory
    private let backup: String

    init() throws {
        directory = try TemporaryDirectory()
        backup = directory.file("backup")
    }

    private func store(_ kind: EmbeddedEngineKind) -> String { EmbeddedStore(in: directory.path).path(kind) }

    /// A store with documents of one value.
    private func filled(_ kind: EmbeddedEngineKind) throws -> any EmbeddedEngine {
        let engine = try EmbeddedStore.open(kind, at: store(kind))
        try engine.fill(1, count: 300, bytes: 2000)
        return engine
    }

    private func values(_ kind: EmbeddedEngineKind, at path: String) throws -> Set<UInt8> {
        let engine = try EmbeddedStore.open(kind, at: path)
        defer { try? engine.close() }
        return try engine.values()
    }

    private static let parts: [(EmbeddedEngineKind, String)] = [
        (.sqlite, ""), (.sqlite, "-wal"), (.sqlite, "-shm"), (.sqlite, ".restored"),
        (.rocksdb, ""), (.rocksdb, "/inside"), (.rocksdb, ".restored"), (.rocksdb, "/../documents.rocksdb"),
    ]

    @Test(arguments: parts)
    func aBackupNeverReplacesTheStoreItself(kind: EmbeddedEngineKind, suffix: String) throws {
        let engine = try filled(kind)
        let link = directory.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: directory.path)
        for place in [store(kind), EmbeddedStore(in: link).path(kind)] {
            let error = storageRefusal { _ = try engine.copy(to: place + suffix, replacing: true) { _ in } }
            #expect(error?.message.contains("belongs to the store") == true, "\(place)")
        }
        try engine.close()
        #expect(try values(kind, at: store(kind)) == [1])
    }

    @Test(arguments: EmbeddedEngineKind.allCases)
    func aBackupIsOneStateWhileCommitsGoOn(kind: EmbeddedEngineKind) throws {
        let engine = try filled(kind)
        let isOver = Atomic(false)
        let thread = Thread {
            var value: UInt8 = 2
            while !isOver.load(ordering: .relaxed) {
                try? engine.fill(value, count: 300, bytes: 2000)
                value = value &+ 1
            }
        }
        thread.start()
        defer { isOver.store(true, ordering: .relaxed) }
        for round in 0..<5 {
            let size = try engine.copy(to: backup, replacing: round > 0) { _ in }
            #expect(size > 0)
            if kind == .sqlite { #expect(size == StoreFile.size(backup)) }
            #expect(try values(kind, at: backup).count == 1)
        }
    }

    /// One nightly job may still be under way when the next one begins.
    @Test(arguments: EmbeddedEngineKind.allCases)
    func copiesWithTheSameTargetWaitForEachOther(kind: EmbeddedEngineKind) throws {
        let engine = try filled(kind)
        let backup = backup
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            do { _ = try engine.copy(to: backup, replacing: true) { _ in } } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(try values(kind, at: backup) == [1])
        try engine.close()
        let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(left.sorted() == ["backup", "documents.\(kind.rawValue)"])
    }

    @Test(arguments: EmbeddedEngineKind.allCases)
    func whatIsThereIsReplacedOnlyWhenSaid(kind: EmbeddedEngineKind) throws {
        let engine = try filled(kind)
        try Data("mine".utf8).write(to: URL(fileURLWithPath: backup))
        let error = storageRefusal { _ = try engine.copy(to: backup, replacing: false) { _ in } }
        #expect(error?.message.contains(backup) == true)
        #expect(FileManager.default.contents(atPath: backup) == Data("mine".utf8))
        _ = try engine.copy(to: backup, replacing: true) { _ in }
        #expect(try values(kind, at: backup) == [1])
        try engine.close()
    }

    @Test(arguments: EmbeddedEngineKind.allCases)
    func aStoppedOrImpossibleBackupLeavesNothing(kind: EmbeddedEngineKind) throws {
        let engine = try filled(kind)
        #expect(throws: Stopped.self) { try engine.copy(to: backup, replacing: false) { _ in throw Stopped() } }
        let nowhere = directory.file("missing/backup")
        let error = storageRefusal { _ = try engine.copy(to: nowhere, replacing: false) { _ in } }
        #expect(error?.message.contains(nowhere) == true)
        #expect(error?.message.contains("No such file") == true)
        try engine.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["documents.\(kind.rawValue)"])
    }
}
