import DocumentStore
import Foundation
import GRDB
import Testing

/// What every engine does.
struct StorageEngineTests {
    private struct Refused: Error {}

    private func keys(
        _ engine: any StorageEngine, _ range: KeyRange, reverse: Bool = false, limit: Int = .max
    ) throws -> [[UInt8]] {
        try engine.makeReadSession().read { reader in
            var keys: [[UInt8]] = []
            try reader.scan(.index, range, reverse: reverse) { key, _ in
                keys.append(key)
                return keys.count < limit
            }
            return keys
        }
    }

    private func get(_ engine: any StorageEngine, _ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
        try engine.makeReadSession().read { try $0.get(table, key) }
    }

    @Test(arguments: EngineKind.allCases)
    func whatWasPutIsReadInOrder(kind: EngineKind) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        var generator = SeededGenerator(seed: 5)
        let all = (0..<2000).map { i in [UInt8(i >> 8), UInt8(i & 255)] }
        try engine.write { writer in
            for key in all.shuffled(using: &generator) { try writer.put(.index, key, key) }
            try writer.put(.index, [], [])
        }
        let whole = KeyRange(lower: [], upper: nil)
        #expect(try keys(engine, whole) == [[]] + all)
        #expect(try keys(engine, whole, reverse: true) == ([[]] + all).reversed())
        let part = KeyRange(lower: [1], upper: [2, 3])
        let expected = all.filter { !$0.lexicographicallyPrecedes([1]) && $0.lexicographicallyPrecedes([2, 3]) }
        #expect(try keys(engine, part) == expected)
        #expect(try keys(engine, part, reverse: true, limit: 1) == [[2, 2]])
        #expect(try keys(engine, KeyRange(lower: [2], upper: [1])).isEmpty)
        #expect(try keys(engine, KeyRange(prefix: [3])).count == 256)
        try engine.write { writer in for key in all.dropFirst(10) { try writer.delete(.index, key) } }
        #expect(try keys(engine, whole) == [[]] + all.prefix(10))
        try engine.close()
    }

    @Test(arguments: EngineKind.allCases)
    func aBatchThatThrowsLeavesNothing(kind: EngineKind) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        try engine.write { try $0.put(.meta, [1], [1]) }
        #expect(throws: Refused.self) {
            try engine.write { writer in
                try writer.put(.meta, [1], [2])
                try writer.put(.documents, [9], [9])
                #expect(try writer.get(.meta, [1]) == [2])
                throw Refused()
            }
        }
        #expect(try get(engine, .meta, [1]) == [1])
        #expect(try get(engine, .documents, [9]) == nil)
        try engine.close()
    }

    @Test(arguments: EngineKind.allCases)
    func aReaderSeesOneStateWhileTheWriterGoesOn(kind: EngineKind) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        try engine.write { try $0.put(.meta, [1], [1]) }
        try engine.makeReadSession().read { reader in
            #expect(try reader.get(.meta, [1]) == [1])
            try engine.write { writer in
                try writer.put(.meta, [1], [2])
                // Not durable yet, so nobody else sees it.
                #expect(try get(engine, .meta, [1]) == [1])
            }
            #expect(try reader.get(.meta, [1]) == [1])
        }
        #expect(try get(engine, .meta, [1]) == [2])
        try engine.close()
    }

    @Test(arguments: EngineKind.allCases)
    func scansCanReadAndScanInside(kind: EngineKind) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        try engine.write { for i in 0..<5 { try $0.put(.index, [UInt8(i)], [UInt8(i)]) } }
        var pairs = 0
        try engine.makeReadSession().read { reader in
            try reader.scan(.index, KeyRange(lower: [], upper: nil), reverse: false) { key, _ in
                #expect(try reader.get(.index, key) == key)
                try reader.scan(.index, KeyRange(lower: [], upper: nil), reverse: false) { _, _ in
                    pairs += 1
                    return true
                }
                return true
            }
        }
        #expect(pairs == 25)
        try engine.close()
    }
}

struct SQLiteEngineTests {
    private func refusal(_ file: String) -> StorageError? {
        do {
            try SQLiteEngine(file: file).close()
            return nil
        } catch {
            return error as? StorageError
        }
    }

    private func filled() throws -> (TemporaryDirectory, String) {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        let engine = try SQLiteEngine(file: file)
        try engine.write { for i in 0..<200 { try $0.put(.documents, [UInt8(i)], [UInt8](repeating: 7, count: 1000)) } }
        try engine.close()
        return (directory, file)
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
        try database.dropLast(pages * 4096).write(to: URL(fileURLWithPath: file))
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

    @Test(arguments: [1, 10]) func aTruncatedFileIsRefusedBesideALogToo(pages: Int) throws {
        let (directory, file) = try killed(cutting: pages)
        let before = FileManager.default.contents(atPath: file)
        #expect(refusal(file)?.kind == .damaged)
        #expect(FileManager.default.contents(atPath: file) == before)
        withExtendedLifetime(directory) {}
    }

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
        // Everything behind the schema's page, which is not looked at when the file is opened.
        for index in (4096 * 8)..<bytes.count { bytes[index] = 0xEE }
        try bytes.write(to: URL(fileURLWithPath: file))
        let engine = try SQLiteEngine(file: file)
        #expect(throws: StorageError.self) {
            try engine.makeReadSession().read { reader in
                try reader.scan(.documents, KeyRange(lower: [], upper: nil), reverse: false) { _, _ in true }
            }
        }
        withExtendedLifetime(directory) {}
    }
}
