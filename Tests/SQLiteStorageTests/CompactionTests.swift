import TestSupport
@testable import SQLiteStorage
import TestSupport
import StorageEngine
import StoreTestSupport
import Foundation
import GRDB
import Synchronization
import Testing

/// Compaction and the look for damage, which can be interrupted.
struct CompactionTests {
    private let directory: TemporaryDirectory
    private let file: String

    init() throws {
        directory = try TemporaryDirectory()
        file = directory.file("documents.db")
    }

    @Test(arguments: [CompactionExtent.steps, .whole]) func compactionGivesRoomBack(extent: CompactionExtent) throws {
        let engine = try SQLiteEngine(file: file)
        try engine.fill(1, count: 3000)
        try engine.write { writer in
            for i in 0..<2900 { try writer.delete(.documents, [UInt8(i >> 8), UInt8(i & 255)]) }
        }
        var steps = 0
        let compaction = try engine.compact(extent) { _ in
            steps += 1
            // Between its steps others commit.
            try engine.write { try $0.put(.meta, [1], [UInt8(steps & 255)]) }
        }
        #expect(compaction.before > 5_000_000)
        #expect(compaction.after < 1_000_000)
        #expect(compaction.kept == 0)
        #expect(extent == .whole || steps > 5)
        try engine.findDamage { finding in
            Issue.record("\(finding)")
            return true
        }
        let left = try engine.makeReadSession().read { try $0.count(.documents, .all) }
        #expect(left == 100)
        try engine.close()
    }

    @Test func theCopyOfARewrittenFileIsBesideAStore() throws {
        // Of a name that SQL must quote.
        let place = directory.file("o'clock")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        let engine = try SQLiteEngine(file: place + "/documents.db")
        try engine.fill(1)
        _ = try engine.compact(.whole) { _ in }
        // The process has one such directory, that of the store that another test compacts meanwhile, perhaps.
        let temporary = try engine.queue.inDatabase { try String.fetchOne($0, sql: "PRAGMA temp_store_directory") }
        #expect(temporary?.isEmpty == false)
        try engine.close()
    }

    @Test func writingTheFileAnewIsInterruptedAndChangesNothing() throws {
        let engine = try SQLiteEngine(file: file)
        try engine.fill(1, count: 3000)
        try engine.write { writer in
            for i in 1000..<3000 { try writer.delete(.documents, [UInt8(i >> 8), UInt8(i & 255)]) }
        }
        func free() throws -> Int? {
            try engine.queue.inDatabase { try Int.fetchOne($0, sql: "PRAGMA freelist_count") }
        }
        let before = try free()
        let cancellation = BlockingWork.Cancellation()
        engine.queue.inDatabase { database in
            database.trace { event in
                if "\(event)".hasSuffix("VACUUM") { cancellation.cancel() }
            }
        }
        #expect(throws: CancellationError.self) { try engine.compact(.whole, until: cancellation) { _ in } }
        engine.queue.inDatabase { $0.trace(options: []) }
        #expect(try free() == before)
        try engine.fill(2)
        let left = try engine.makeReadSession().read { try $0.count(.documents, .all) }
        #expect(left == 1000)
        try engine.findDamage { finding in
            Issue.record("\(finding)")
            return true
        }
        _ = try engine.compact(.whole) { _ in }
        #expect(try free() == 0)
        try engine.close()
    }

    @Test func anInterruptionBeforeTheStatementIsNotForgotten() throws {
        let queue = try DatabaseQueue()
        let cancellation = BlockingWork.Cancellation()
        var hasAnswered = false
        #expect(throws: CancellationError.self) {
            try queue.inDatabase { database in
                try SQLiteEngine.step(on: database, of: queue, until: cancellation) {
                    cancellation.cancel()
                    _ = try Row.fetchOne(database, sql: "PRAGMA integrity_check")
                    hasAnswered = true
                }
            }
        }
        #expect(!hasAnswered)
        // The next one has none of it.
        #expect(try queue.inDatabase { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
    }

    @Test func theLookForDamageIsInterrupted() throws {
        let engine = try SQLiteEngine(file: file)
        try engine.fill(1)
        try engine.close()
        let cancellation = BlockingWork.Cancellation()
        var configuration = SQLiteEngine.configuration(readonly: true)
        configuration.prepareDatabase { database in
            database.trace { event in
                if "\(event)".contains("integrity_check") { cancellation.cancel() }
            }
        }
        let queue = try DatabaseQueue(path: file, configuration: configuration)
        #expect(throws: CancellationError.self) {
            try SQLiteEngine.findDamage(queue, until: cancellation) { finding in
                Issue.record("\(finding)")
                return true
            }
        }
        // The connection is as good as before.
        try SQLiteEngine.findDamage(queue) { finding in
            Issue.record("\(finding)")
            return true
        }
        try queue.close()
    }

    @Test func aFileOfAnOlderVersionIsCompactedOnceItIsRewritten() throws {
        let queue = try DatabaseQueue(path: file)
        try SQLiteSchema.migrator.migrate(queue)
        try queue.close()
        let engine = try SQLiteEngine(file: file)
        try engine.fill(1, count: 1000)
        try engine.write { writer in
            for i in 0..<1000 { try writer.delete(.documents, [UInt8(i >> 8), UInt8(i & 255)]) }
        }
        let inSteps = try engine.compact(.steps) { _ in }
        #expect(inSteps.kept > 1_000_000)
        let anew = try engine.compact(.whole) { _ in }
        #expect(anew.kept == 0)
        try engine.fill(2, count: 1000)
        try engine.write { writer in
            for i in 0..<1000 { try writer.delete(.documents, [UInt8(i >> 8), UInt8(i & 255)]) }
        }
        let again = try engine.compact(.steps) { _ in }
        #expect(again.after < 200_000)
        try engine.close()
    }

    @Test func damageIsFound() throws {
        let engine = try SQLiteEngine(file: file)
        try engine.fill(1)
        var findings: [String] = []
        func note(_ finding: String) -> Bool {
            findings.append(finding)
            return true
        }
        try engine.findDamage(note)
        #expect(findings.isEmpty)
        try engine.close()
        var bytes = try #require(FileManager.default.contents(atPath: file))
        for index in bytes.count / 2..<bytes.count / 2 + 9000 { bytes[index] = 0xEE }
        try bytes.write(to: URL(fileURLWithPath: file))
        let damaged = try SQLiteEngine(file: file)
        try damaged.findDamage(note)
        #expect(!findings.isEmpty)
        // Each is one problem, without SQLite's title.
        #expect(findings.allSatisfy { !$0.contains("\n") && !$0.hasPrefix("***") })
        try damaged.close()
    }
}

extension SQLiteEngine {
    func fill(_ value: UInt8, count: Int = 300) throws { try fill(value, count: count, bytes: 2000) }
}
