@testable import CommitPipeline
import TestSupport
import StoreTestSupport
import EmbeddedStorage
import StorageEngine
import DocumentModel
@testable import DocumentStore
import Foundation
import Testing

@Suite(.enabled(if: SmallDisk.isPossible, "skipped: this user may not mount a disk for it"))
struct FullDiskTests {
    private func store(_ kind: EmbeddedEngineKind, _ disk: SmallDisk) throws -> DocumentStore {
        let engine = try EmbeddedStore.open(kind, at: disk.path + "/documents.db")
        let store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        store.routeEvents(documents: [try .init("told", .created, "c/{id}")])
        try store.start()
        return store
    }

    /// The number of documents whose events are pending for a function.
    private func deliveries(_ store: DocumentStore) async throws -> Int {
        try await store.outbox.counts().first?.pending ?? 0
    }

    private func close(_ store: DocumentStore) async throws {
        await store.shutdown()
        try store.engine.close()
    }

    private func set(_ i: Int, in store: DocumentStore) async throws -> DocumentError? {
        var random = SeededGenerator(seed: UInt64(i))
        // An engine can't compress them.
        let bytes = (0..<30_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        let fields: [String: Value] = ["n": .integer(Int64(i)), "b": .bytes(bytes)]
        let write = Write(path: try DocumentPath("c/d\(i)"), operation: .set(fields))
        return await refusal { _ = try await store.commit([write]) }
    }

    private func count(_ store: DocumentStore, upTo limit: Int) async throws -> Int {
        var count = 0
        for i in 0..<limit {
            guard let found = try? await store.get([DocumentPath("c/d\(i)")]).documents else {
                Issue.record("document \(i) can't be read")
                continue
            }
            if found[0]?.fields["n"] == .integer(Int64(i)) { count += 1 }
        }
        return count
    }

    @Test(arguments: EmbeddedEngineKind.allCases)
    func aFullDiskRefusesCommitsAndLosesNothing(kind: EmbeddedEngineKind) async throws {
        let disk = try SmallDisk(megabytes: 32)
        let filler = disk.path + "/filler"
        // RocksDB needs room for what its log holds, once more, before it goes on.
        try Data(count: 24 << 20).write(to: URL(fileURLWithPath: filler))
        let store = try store(kind, disk)
        var (acknowledged, refusals) = (0, 0)
        // An engine may find room once more when it tidies up after the first refusal.
        while refusals < 3 {
            if let error = try await set(acknowledged, in: store) {
                #expect(error.code == .unavailable)
                #expect(error.message.contains("full"))
                refusals += 1
                // Reads go on.
                #expect(try await count(store, upTo: acknowledged + 1) == acknowledged)
            } else {
                acknowledged += 1
                refusals = 0
            }
        }
        #expect(acknowledged > 10)
        #expect(try await deliveries(store) == acknowledged)
        // A store that is opened on the full disk reads as well.
        try await close(store)
        let reopened = try self.store(kind, disk)
        #expect(try await count(reopened, upTo: acknowledged + 1) == acknowledged)
        // Room again: no restart is needed.
        try FileManager.default.removeItem(atPath: filler)
        for i in acknowledged..<acknowledged + 5 { #expect(try await set(i, in: reopened) == nil) }
        #expect(try await count(reopened, upTo: acknowledged + 5) == acknowledged + 5)
        #expect(try await deliveries(reopened) == acknowledged + 5)
        let result = try reopened.check(report: { Issue.record("\($0)") }, progress: { _ in })
        #expect(result.problems == 0)
        try await close(reopened)
    }

    @Test(arguments: EmbeddedEngineKind.allCases)
    func aBackupToAFullDiskSaysSoAndLeavesNothing(kind: EmbeddedEngineKind) throws {
        let disk = try SmallDisk(megabytes: 1)
        let directory = try TemporaryDirectory()
        let engine = try EmbeddedStore.open(kind, at: directory.file("documents.db"))
        try engine.write { writer in
            var random = SeededGenerator(seed: 1)
            for i in 0..<200 {
                let bytes = (0..<20_000).map { _ in UInt8.random(in: 0...255, using: &random) }
                try writer.put(.documents, [UInt8(i)], bytes)
            }
        }
        let error = #expect(throws: StorageError.self) {
            try engine.copy(to: disk.path + "/backup.db", replacing: false) { _ in }
        }
        #expect(error?.message.contains("full") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == [])
        try engine.close()
    }

    @Test(arguments: EmbeddedEngineKind.allCases)
    func aReadOnlyDiskIsRefusedWithASentence(kind: EmbeddedEngineKind) async throws {
        let disk = try SmallDisk(megabytes: 4)
        let store = try store(kind, disk)
        #expect(try await set(0, in: store) == nil)
        try await close(store)
        try disk.setReadOnly(true)
        let error = #expect(throws: StorageError.self) { try EmbeddedStore.open(kind, at: disk.path + "/documents.db") }
        #expect(error?.kind == .unavailable)
        #expect(error?.message.contains(disk.path) == true)
        try disk.setReadOnly(false)
        let reopened = try self.store(kind, disk)
        #expect(try await count(reopened, upTo: 1) == 1)
        try await close(reopened)
    }
}
