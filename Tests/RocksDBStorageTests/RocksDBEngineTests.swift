import CRocksDB
import Foundation
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

@testable import RocksDBStorage

/// What is true of this engine alone; `StorageEngineConformanceTests` has what all have in common.
@Suite(.endsHangs) struct RocksDBEngineTests {
    private let directory: TemporaryDirectory
    private let store: String

    init() throws {
        directory = try TemporaryDirectory()
        store = directory.file("documents.rocksdb")
    }

    @Test func whatWasWrittenIsThereAfterOpeningAgain() throws {
        for round: UInt8 in 0..<4 {
            let engine = try RocksDBEngine(directory: store)
            #expect(try engine.values() == Set(0..<round))
            try engine.write { try $0.put(.documents, [round], [round]) }
            try engine.close()
        }
    }

    /// Kills of the process don't show it: the system keeps what was written.
    @Test func eachCommitIsSynced() throws {
        let engine = try RocksDBEngine(directory: store)
        for number: UInt8 in 0..<5 { try engine.write { try $0.put(.documents, [number], [number]) } }
        let found = try engine.handle.reading { pointer -> String in
            let text = try #require(rocksdb_property_value(pointer, "rocksdb.stats"))
            defer { rocksdb_free(text) }
            return String(cString: text)
        }
        // RocksDB's own count since it was opened.
        #expect(found.contains("Cumulative WAL: 5 writes, 5 syncs"), "\(found)")
        try engine.close()
    }

    @Test func itsDirectoryIsPrivate() throws {
        let engine = try RocksDBEngine(directory: store)
        let mode = try FileManager.default.attributesOfItem(atPath: store)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o700)
        try engine.close()
    }

    @Test(.enabled(if: geteuid() == 0, "skipped: only root can give files away"))
    func itBelongsToWhomItsDirectoryBelongs() throws {
        #expect(chown(directory.path, 65_534, 65_534) == 0)
        let engine = try RocksDBEngine(directory: store)
        try engine.write { try $0.put(.documents, [1], [1]) }
        try engine.close()
        for name in try FileManager.default.contentsOfDirectory(atPath: store) + [""] {
            let owner = try FileManager.default.attributesOfItem(atPath: store + "/" + name)[.ownerAccountID]
            #expect((owner as? NSNumber)?.intValue == 65_534, "\(name)")
        }
    }

    @Test func aStoreIsOpenOnce() throws {
        let engine = try RocksDBEngine(directory: store)
        #expect(storageRefusal { _ = try RocksDBEngine(directory: store) }?.message.contains("in use") == true)
        try engine.close()
        try RocksDBEngine(directory: store).close()
    }

    @Test func aNewerStoreIsRefused() throws {
        let engine = try RocksDBEngine(directory: store)
        try engine.handle.writing { pointer, _ in
            let batch = try RocksDBBatch()
            batch.put(own: RocksDBReader.versionKey, [RocksDBEngine.version + 1])
            try batch.commit(to: pointer, directory: store)
        }
        try engine.close()
        let error = storageRefusal { _ = try RocksDBEngine(directory: store) }
        #expect(error?.kind == .newer)
        #expect(error?.message.contains(store) == true)
    }

    @Test func theDatabaseOfAnotherProgramIsRefused() throws {
        try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: false)
        let handle = try RocksDBHandle(creating: store)
        handle.close()
        #expect(storageRefusal { _ = try RocksDBEngine(directory: store) }?.message.contains("something else") == true)
    }

    /// Each row is in its own table, whatever its key.
    @Test func tablesDoNotReachIntoEachOther() throws {
        let engine = try RocksDBEngine(directory: store)
        let keys: [[UInt8]] = [[], [0], [0xFF], [0xFF, 0xFF]]
        try engine.write { writer in
            for table in StorageTable.allCases {
                for key in keys { try writer.put(table, key, [UInt8(table.rawValue)]) }
            }
        }
        for isInBatch in [false, true] {
            try engine.write { writer throws in
                if isInBatch { try writer.put(.meta, [7], [UInt8(StorageTable.meta.rawValue)]) }
                for table in StorageTable.allCases {
                    for reverse in [false, true] {
                        var found = [[UInt8]]()
                        try writer.scan(table, .all, reverse: reverse) { key, value throws in
                            #expect(value == [UInt8(table.rawValue)])
                            found.append(key)
                            return true
                        }
                        let expected = isInBatch && table == .meta ? [[], [0], [7], [0xFF], [0xFF, 0xFF]] : keys
                        #expect(found == (reverse ? expected.reversed() : expected))
                    }
                }
            }
        }
        try engine.close()
    }

    /// A commit that failed may be in the log all the same, if only the disk didn't confirm it.
    @Test(arguments: [false, true]) func aCommitThatFailedDoesNotComeBack(isKilled: Bool) throws {
        let engine = try RocksDBEngine(directory: store)
        try engine.write { try $0.put(.documents, [1], [1]) }
        let lastRow = try engine.handle.reading { rocksdb_get_latest_sequence_number($0) }
        try engine.write { try $0.put(.documents, [2], [2]) }
        engine.handle.stop(after: lastRow, because: StorageError(.unavailable, "the disk doesn't answer"))
        if isKilled {
            let copy = directory.file("killed")
            try FileManager.default.copyItem(atPath: store, toPath: copy)
            let next = try RocksDBEngine(directory: copy)
            #expect(try next.values() == [1])
            try next.close()
        } else {
            try engine.write { try $0.put(.documents, [3], [3]) }
            #expect(try engine.values() == [1, 3])
        }
        try engine.close()
        if !isKilled { #expect(try RocksDBEngine(directory: store).values() == [1, 3]) }
    }

    @Test func aDamagedStoreIsNotOpenedAgain() throws {
        let engine = try RocksDBEngine(directory: store)
        try engine.fill(1)
        engine.handle.stop(after: .max, because: StorageError(.damaged, "a table is damaged"))
        #expect(storageRefusal { try engine.fill(2) }?.message == "a table is damaged")
        #expect(try engine.values() == [1])
        #expect(storageRefusal { _ = try engine.compact(.whole) { _ in } }?.message == "a table is damaged")
        try engine.close()
    }

    /// Commits that wait for a long read keep no other read waiting.
    @Test func aLongReadDelaysCommitsAfterAFailureAndNoOtherRead() throws {
        let engine = try RocksDBEngine(directory: store)
        try engine.fill(1)
        try engine.makeReadSession().read { reader throws in
            engine.handle.stop(after: .max, because: StorageError(.unavailable, "the disk doesn't answer"))
            for _ in 0..<3 { #expect(storageRefusal { try engine.fill(2) }?.message == "the disk doesn't answer") }
            #expect(try engine.values() == [1])
            #expect(try reader.count(.documents, .all) > 0)
        }
        while storageRefusal({ try engine.fill(2) }) != nil { usleep(10_000) }
        #expect(try engine.values() == [2])
        try engine.close()
    }

    @Test func whatACompactionFindsDamagedIsTold() throws {
        let engine = try RocksDBEngine(directory: store)
        try engine.fill(1, count: 3000)
        _ = try engine.compact(.whole) { _ in }
        try engine.close()
        let again = try RocksDBEngine(directory: store)
        let names = try FileManager.default.contentsOfDirectory(atPath: store).filter { $0.hasSuffix(".sst") }
        let table = store + "/" + (try #require(names.max()))
        var bytes = try #require(FileManager.default.contents(atPath: table))
        bytes[bytes.count / 4] ^= 0xEE
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: table))
        try file.write(contentsOf: bytes)
        try file.close()
        let error = storageRefusal { _ = try again.compact(.whole) { _ in } }
        #expect(error?.kind == .damaged)
        #expect(error?.message.contains(names.max() ?? "") == true, "\(error?.message ?? "")")
        try? again.close()
    }

    /// What was read before isn't taken from memory.
    @Test func aCheckReadsTheFiles() throws {
        let engine = try RocksDBEngine(directory: store)
        try engine.fill(1, count: 3000)
        // A table that is as small as it can be isn't replaced in the background.
        _ = try engine.compact(.whole) { _ in }
        try engine.close()
        let again = try RocksDBEngine(directory: store)
        #expect(try again.values() == [1])
        let names = try FileManager.default.contentsOfDirectory(atPath: store).filter { $0.hasSuffix(".sst") }
        let table = store + "/" + (try #require(names.max()))
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: table))
        let end = try file.seekToEnd()
        try file.seek(toOffset: end / 4)
        let byte = try #require(try file.read(upToCount: 1)?.first)
        try file.seek(toOffset: end / 4)
        try file.write(contentsOf: [byte ^ 0xEE])
        try file.close()
        var findings: [String] = []
        try again.findDamage {
            findings.append($0); return true
        }
        #expect(findings.count == 1)
        #expect(findings.first?.contains(names.max() ?? "") == true, "\(findings)")
        try again.close()
    }

    /// A search for a row reads the whole block that it is in.
    @Test func largeValuesAreApartFromTheirNeighbors() throws {
        let engine = try RocksDBEngine(directory: store)
        var random = SeededGenerator(seed: 1)
        let large = (0..<1_000_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        func size(of suffix: String) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: store).filter { $0.hasSuffix(suffix) }
                .reduce(0) { $0 + (StoreFile.size(store + "/" + $1) ?? 0) }
        }
        try engine.write { writer in
            for key: UInt8 in 0..<9 { try writer.put(.tree, [key], key == 4 ? large : [key]) }
        }
        _ = try engine.compact(.whole) { _ in }
        let (tables, apart) = (try size(of: ".sst"), try size(of: ".blob"))
        #expect(tables < 10_000 && apart > 1_000_000, "\(tables) and \(apart) bytes")
        #expect(try engine.makeReadSession().read { try $0.get(.tree, [4]) } == large)
        _ = try engine.copy(to: directory.file("backup"), replacing: false) { _ in }
        let backup = try RocksDBEngine(directory: directory.file("backup"))
        #expect(try backup.makeReadSession().read { try $0.get(.tree, [4]) } == large)
        try backup.close()
        try engine.write { try $0.put(.tree, [4], [4]) }
        _ = try engine.compact(.whole) { _ in }
        try engine.close()
        let left = try RocksDBEngine(directory: store)
        #expect(try size(of: ".blob") < 10_000)
        #expect(try left.makeReadSession().read { try $0.get(.tree, [4]) } == [4])
        try left.close()
    }

    /// A log that has a removed range is read, and goes on with the next commit.
    @Test func aRemovedRangeSurvivesAKill() throws {
        let engine = try RocksDBEngine(directory: store)
        try engine.fill(1, count: 3000)
        try engine.write { writer throws in
            #expect(try writer.removeRange(.documents, KeyRange(lower: [0, 9], upper: nil), atMost: .max) == nil)
            try writer.put(.documents, [5, 5], [5])
        }
        let copy = directory.file("killed")
        try FileManager.default.copyItem(atPath: store, toPath: copy)
        try engine.close()
        for next in [try RocksDBEngine(directory: copy), try RocksDBEngine(directory: store)] {
            #expect(try next.values() == [1, 5])
            #expect(try next.makeReadSession().read { try $0.count(.documents, .all) } == 10)
            try next.write { try $0.put(.documents, [6, 6], [6]) }
            _ = try next.compact(.whole) { _ in }
            #expect(try next.values() == [1, 5, 6])
            try next.close()
        }
        #expect(try RocksDBEngine(directory: copy).values() == [1, 5, 6])
    }

    /// As older programs did it.
    @Test func rangesThatWereRemovedAsSuchStayRemoved() throws {
        let engine = try RocksDBEngine(directory: store)
        try engine.fill(1, count: 3000)
        _ = try engine.compact(.whole) { _ in }
        try engine.handle.writing { pointer, _ in
            let batch = try #require(rocksdb_writebatch_create())
            defer { rocksdb_writebatch_destroy(batch) }
            let options = try #require(rocksdb_writeoptions_create())
            defer { rocksdb_writeoptions_destroy(options) }
            let documents = CChar(StorageTable.documents.rawValue)
            rocksdb_writebatch_delete_range(batch, [documents, 0, 9], 3, [documents + 1], 1)
            try calling(store) { rocksdb_write(pointer, options, batch, $0) }
        }
        try engine.close()
        func opened(mayHoldRanges: Bool, _ use: (RocksDBEngine) throws -> Void = { _ in }) throws {
            let engine = try RocksDBEngine(directory: store)
            #expect(engine.handle.mayHoldRanges == mayHoldRanges)
            #expect(try engine.makeReadSession().read { try $0.count(.documents, .all) } == 9)
            try use(engine)
            try engine.close()
        }
        try opened(mayHoldRanges: true)
        try opened(mayHoldRanges: true) { _ = try $0.compact(.whole) { _ in } }
        try opened(mayHoldRanges: false)
    }

    @Test func spaceOfARemovedRangeIsReturned() throws {
        let engine = try RocksDBEngine(directory: store)
        var random = SeededGenerator(seed: 1)
        try engine.write { writer in
            for row in 0..<2_000 {
                let value = (0..<1_000).map { _ in UInt8.random(in: 0...255, using: &random) }
                try writer.put(.documents, [UInt8(row >> 8), UInt8(row & 0xFF)], value)
            }
        }
        _ = try engine.compact(.steps) { _ in }
        #expect(try engine.write { try $0.removeRange(.documents, .all, atMost: .max) } == nil)
        let result = try engine.compact(.whole) { _ in }
        #expect(result.after < result.before / 2, "\(result)")
        try engine.close()
    }

    @Test func spaceOfDeletedRowsIsReturned() throws {
        let engine = try RocksDBEngine(directory: store)
        var random = SeededGenerator(seed: 1)
        for row in 0..<200 {
            try engine.write { writer in
                let value = (0..<20_000).map { _ in UInt8.random(in: 0...255, using: &random) }
                try writer.put(.documents, [UInt8(row)], value)
            }
        }
        _ = try engine.compact(.steps) { _ in }
        try engine.write { writer in for row in 0..<190 { try writer.delete(.documents, [UInt8(row)]) } }
        var parts = 0
        let result = try engine.compact(.whole) { _ in parts += 1 }
        #expect(parts == StorageTable.allCases.count)
        #expect(result.after < result.before / 2, "\(result)")
        #expect(try engine.values().count > 0)
        let cancellation = BlockingWork.Cancellation()
        cancellation.cancel()
        #expect(throws: CancellationError.self) { try engine.compact(.whole, until: cancellation) { _ in } }
        _ = try engine.compact(.whole) { _ in }
        try engine.close()
    }
}

extension RocksDBEngine {
    func fill(_ value: UInt8, count: Int = 300) throws { try fill(value, count: count, bytes: 500) }
}
