import TestSupport
import StoreTestSupport
@testable import SQLiteStorage
import StorageEngine
import DocumentModel
@testable import DocumentStore
import Foundation
import Testing

/// Files that a disk or a crash has changed: an answer is right or an error, and a check finds what no read can.
struct DamageTests {
    private struct Original {
        let directory: TemporaryDirectory
        let database: Data
        let documents: [DocumentPath: Document]
    }

    /// A closed store with some documents, a few of them in several versions.
    private func original() async throws -> Original {
        let test = try TestStore(.sqlite)
        var documents: [DocumentPath: Document] = [:]
        for i in 0..<60 {
            let text = String(repeating: "text \(i) ", count: 20)
            try await test.set(
                "c/d\(i % 50)", ["n": .integer(Int64(i)), "s": .string(text), "l": .array([.double(0.5)])])
        }
        for i in 0..<50 {
            let document = try #require(try await test.get("c/d\(i)"))
            documents[document.path] = document
        }
        await test.store.shutdown()
        try test.store.engine.close()
        let database = try #require(FileManager.default.contents(atPath: test.directory.file("documents.db")))
        return Original(directory: test.directory, database: database, documents: documents)
    }

    /// Opens a file, reads all there is, and checks it.
    /// - Returns: whether anything was noticed.
    private func isNoticed(_ bytes: Data, _ original: Original, _ what: String) async throws -> Bool {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        try bytes.write(to: URL(fileURLWithPath: file))
        guard let engine = try? SQLiteEngine(file: file) else { return true }
        defer { try? engine.close() }
        guard let store = try? DocumentStore(engine: engine, now: ManualClock().timestamp), (try? store.start()) != nil
        else {
            return true
        }
        var isNoticed = false
        for (path, document) in original.documents {
            // A lost key can hide a document from a read, never change it.
            if let found = try? await store.get([path]).documents.first ?? nil {
                #expect(found == document, "\(what)")
            } else {
                isNoticed = true
            }
        }
        let result = try? store.check(report: { _ in }, progress: { _ in })
        await store.shutdown()
        return isNoticed || (result.map { $0.problems > 0 } ?? true)
    }

    @Test func changedBytesAreNeverReadAsSomethingElse() async throws {
        let original = try await original()
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var noticed = 0
        for round in 0..<80 {
            var bytes = original.database
            let place = Int.random(in: 100..<bytes.count, using: &generator)
            switch round % 4 {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &generator)
            case 1:
                for index in place..<min(place + 16, bytes.count) {
                    bytes[index] = UInt8.random(in: 0...255, using: &generator)
                }
            case 2:
                let page = place / 8192 * 8192
                bytes.replaceSubrange(page..<page + 8192, with: Data(count: 8192))
            default:
                // One page in place of another, as a disk that misdirects a write leaves it.
                let (page, other) = (
                    place / 8192 * 8192, Int.random(in: 1..<bytes.count / 8192, using: &generator) * 8192
                )
                bytes.replaceSubrange(page..<page + 8192, with: original.database[other..<other + 8192])
            }
            if try await isNoticed(bytes, original, "round \(round), the seed is \(seed)") { noticed += 1 }
        }
        // Changes of unused bytes harm nothing.
        #expect(noticed > 20, "the seed is \(seed)")
    }

    @Test func aFileCutAnywhereIsRefused() async throws {
        let original = try await original()
        for length in stride(from: 0, to: original.database.count, by: original.database.count / 37) {
            let directory = try TemporaryDirectory()
            let file = directory.file("documents.db")
            try original.database.prefix(length).write(to: URL(fileURLWithPath: file))
            let error = #expect(throws: StorageError.self) { try SQLiteEngine(file: file) }
            #expect(error?.kind == .damaged)
        }
    }

    /// The log holds the last commits until they are played into the file.
    @Test func aTornLogGivesTheCommitsBeforeTheTear() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("documents.db")
        let engine = try SQLiteEngine(file: file)
        try engine.write { try $0.put(.meta, [0], [0]) }
        let database = try #require(FileManager.default.contents(atPath: file))
        var ends: [Int] = []
        for commit in 1...20 {
            try engine.write { writer in
                for part in 0..<5 {
                    try writer.put(.documents, [UInt8(part)], [UInt8](repeating: UInt8(commit), count: 3000))
                }
            }
            ends.append(StoreFile.size(file + "-wal") ?? 0)
        }
        let log = try #require(FileManager.default.contents(atPath: file + "-wal"))
        try engine.close()
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        for round in 0..<60 {
            let torn = try TemporaryDirectory()
            let copy = torn.file("documents.db")
            try database.write(to: URL(fileURLWithPath: copy))
            let place = Int.random(in: 32..<log.count, using: &generator)
            var bytes = log
            if round % 2 == 0 { bytes = bytes.prefix(place) } else { bytes[place] ^= 0x40 }
            try bytes.write(to: URL(fileURLWithPath: copy + "-wal"))
            guard let engine = try? SQLiteEngine(file: copy) else {
                Issue.record("a torn log keeps the store from opening; the seed is \(seed)")
                continue
            }
            // Each commit whose end lies before the tear, and none in part.
            let whole = ends.count { $0 <= place }
            let values = try engine.makeReadSession().read { reader in
                try (0..<5).map { try reader.get(.documents, [UInt8($0)]) ?? [] }
            }
            #expect(Set(values).count == 1, "the seed is \(seed)")
            #expect(values[0].first.map(Int.init) ?? 0 == whole, "place \(place), the seed is \(seed)")
            try engine.close()
        }
    }
}
