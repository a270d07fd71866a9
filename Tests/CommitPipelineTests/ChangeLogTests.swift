import TestSupport
@testable import CommitPipeline
import DocumentModel
import StorageEngine
import StoreTestSupport
import Testing

/// The change log's bounds.
struct ChangeLogTests {
    private let clock = ManualClock()
    private let engine = MemoryEngine()

    private func logBytes() throws -> Int {
        try engine.makeReadSession().read { storage in try #require(try HistoryBounds.read(storage)).bytes }
    }

    @Test func anIdleStoreTrimsItsLog() throws {
        try engine.write { storage in
            var bounds = HistoryBounds(floor: 0, bytes: 0)
            for version in 1...300 as ClosedRange<Int64> {
                bounds.bytes += try ChangeLog.append(
                    version: version, recordKey: [9], before: nil, after: [1, 2, 3], to: storage)
            }
            try bounds.write(to: storage)
            try StoreVersion.write(1000, KindGenerations(), to: storage)
        }
        var configuration = CommitConfiguration()
        configuration.maxHistoryBytes = try logBytes() / 10
        let pipeline = try CommitPipeline(
            engine: engine, now: clock.timestamp, elapsed: clock.elapsed, configuration: configuration)
        let writer = try pipeline.makeWriter()
        var turns = 0
        repeat {
            writer.runBatch([])
            turns += 1
        } while writer.pause < .seconds(1) && turns < 100
        #expect(try logBytes() <= configuration.maxHistoryBytes)
        #expect(turns > 1)
    }

    /// Few large changes that come in drive out many small ones.
    @Test func theLogShrinksByBytesAndNotByRows() throws {
        try engine.write { storage in
            var bounds = HistoryBounds(floor: 0, bytes: 0)
            for version in 1...1000 as ClosedRange<Int64> {
                bounds.bytes += try ChangeLog.append(
                    version: version, recordKey: [9], before: nil, after: [1, 2, 3], to: storage)
            }
            let (all, row) = (bounds.bytes, bounds.bytes / 1000)
            #expect(
                try bounds.trim(
                    upTo: 0, oldestActiveRead: 1000, maxBytes: 0, atMost: 2, orBytes: row * 500, in: storage))
            #expect(bounds.bytes == all - row * 500)
            #expect(
                try bounds.trim(upTo: 0, oldestActiveRead: 1000, maxBytes: 0, atMost: 20, orBytes: row, in: storage))
            #expect(bounds.bytes == all - row * 520)
            #expect(
                try !bounds.trim(upTo: 0, oldestActiveRead: 1000, maxBytes: 0, atMost: 480, orBytes: 0, in: storage))
            #expect(bounds.bytes == 0)
        }
    }

    /// A commit that is too large to go in one step goes in several, and counts as gone from the first on.
    @Test func trimmingGoesInSteps() throws {
        let engine = MemoryEngine()
        try engine.write { storage in
            var bounds = HistoryBounds(floor: 0, bytes: 0)
            for document in 0..<50 {
                bounds.bytes += try ChangeLog.append(
                    version: 5, recordKey: Array("a/\(document)".utf8), before: nil, after: [1, 2, 3], to: storage)
            }
            bounds.bytes += try ChangeLog.append(version: 6, recordKey: [9], before: nil, after: nil, to: storage)
            for step in 1...3 {
                try bounds.trim(upTo: 5, oldestActiveRead: 5, maxBytes: .max, atMost: 20, in: storage)
                #expect(bounds.floor == 5)
                #expect(try storage.count(.changes, .all) == max(51 - step * 20, 1))
            }
            try bounds.trim(upTo: 5, oldestActiveRead: 5, maxBytes: .max, atMost: 20, in: storage)
            #expect(try storage.count(.changes, .all) == 1)
        }
    }

    private static func image(
        _ recordKey: [UInt8], at version: Int64, in storage: any StorageReader
    ) throws -> [UInt8]? {
        try ChangeLog.images(of: recordKey, at: version, in: storage)?.after
    }

    @Test func eachKindReadsItsOwnRows() throws {
        final class FirstKind: DataKind {
            static let id: UInt8 = 0
        }
        try engine.write { storage in
            func append(_ key: String, of kind: any DataKind.Type, _ version: Int64, _ after: UInt8) throws {
                _ = try ChangeLog.append(
                    version: version, recordKey: ChangeLog.recordKey(Array(key.utf8), of: kind), before: nil,
                    after: [after], to: storage)
            }
            try append("a", of: FirstKind.self, 1, 1)
            try append("a", of: Counters.self, 1, 2)
            // Its key goes on as the other's row does, with a 0 byte.
            try append("a\0", of: Counters.self, 2, 3)
            try append("a\0b", of: Counters.self, 2, 4)
            func values(of kind: any DataKind.Type) throws -> [UInt8?] {
                var values: [UInt8?] = []
                try ChangeLog.scan(kind, .all, in: storage) { _, value in
                    values.append(try ChangeLog.images(value).after?.first)
                    return true
                }
                var count = 0
                try ChangeLog.scanKeys(kind, .all, in: storage) { _ in
                    count += 1
                    return true
                }
                #expect(count == values.count)
                return values
            }
            #expect(try values(of: FirstKind.self) == [1])
            #expect(try values(of: Counters.self) == [2, 3, 4])
            func image(_ key: String, at version: Int64) throws -> [UInt8]? {
                try Self.image(ChangeLog.recordKey(Array(key.utf8), of: Counters.self), at: version, in: storage)
            }
            #expect(try image("a", at: 1) == [2])
            #expect(try image("a", at: 2) == nil)
            #expect(try image("a\0", at: 2) == [3])
            #expect(try image("a\0b", at: 2) == [4])
        }
    }

    /// What would be left of a commit in part is of no use to anyone.
    @Test func commitsGoWhole() throws {
        let engine = MemoryEngine()
        try engine.write { storage in
            var bounds = HistoryBounds(floor: 0, bytes: 0)
            for version in 1...2 as ClosedRange<Int64> {
                for document in 0..<5 {
                    bounds.bytes += try ChangeLog.append(
                        version: version, recordKey: Array("a/\(document)".utf8), before: nil, after: [1],
                        to: storage)
                }
            }
            try bounds.trim(upTo: 0, oldestActiveRead: 2, maxBytes: bounds.bytes - 1, atMost: 100, in: storage)
            #expect(bounds.floor == 1)
            #expect(try storage.count(.changes, ChangeLog.range(after: 0, upTo: 1)) == 0)
            #expect(try storage.count(.changes, ChangeLog.range(after: 1)) == 5)
        }
    }

    // MARK: Damage

    @Test(arguments: [(.min, 0), (-1, 0), (.max, 0), (0, .min), (0, -1), (0, .max)] as [(Int64, Int64)])
    func boundsThatNoLogHasAreRefused(floor: Int64, bytes: Int64) throws {
        try engine.write { storage in
            try HistoryBounds(floor: floor, bytes: Int(bytes)).write(to: storage)
            #expect(throws: DecodingFailure.self) { try HistoryBounds.read(storage) }
        }
    }

    @Test func nothingFollowsTheLargestVersion() throws {
        try engine.write { storage in
            _ = try ChangeLog.append(version: 5, recordKey: [9], before: nil, after: [1], to: storage)
            #expect(try storage.count(.changes, ChangeLog.range(after: .max)) == 0)
            #expect(try storage.count(.changes, ChangeLog.range(after: 4, upTo: .max)) == 1)
        }
    }

    /// A row that can't be read must not keep all commits from being stored.
    @Test func aRowWithADamagedKeyDoesNotKeepOthersFromBeingTrimmed() throws {
        try engine.write { storage in
            var bounds = HistoryBounds(floor: 0, bytes: 0)
            for version in 1...3 as ClosedRange<Int64> {
                bounds.bytes += try ChangeLog.append(
                    version: version, recordKey: [9], before: nil, after: [1], to: storage)
            }
            let keys = [[0], [UInt8](repeating: 0xFF, count: 20), [0, 0, 0, 0, 0, 0, 0, 2, 9, 0xFF, 0xFF, 0xFF, 0xFF]]
            for key in keys { try storage.put(.changes, key, []) }
            try bounds.trim(upTo: 2, oldestActiveRead: 3, maxBytes: 1 << 20, atMost: 100, in: storage)
            #expect(bounds == HistoryBounds(floor: 2, bytes: 0))
            #expect(try storage.count(.changes, .all) == 3)
        }
    }
}
