import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import Synchronization
import TestSupport
import Testing

struct CheckTests {
    /// A store with documents of many kinds of entries, some changed and some deleted.
    private func filled(_ kind: EngineKind) async throws -> (TestStore, any StorageEngine) {
        let test = try TestStore(kind)
        try await test.store.configureIndexes(
            IndexConfiguration(
                indexes: [
                    IndexDefinition(
                        collectionID: "orders",
                        fields: [
                            .init(FieldPath(segments: ["a"]), .ascending),
                            .init(FieldPath(segments: ["b"]), .descending),
                        ]),
                    IndexDefinition(
                        collectionID: "orders", scope: .collectionGroup,
                        fields: [.init(FieldPath(segments: ["b"]), .descending)]),
                ],
                exemptions: [
                    FieldExemption(
                        collectionID: "users", field: FieldPath(segments: ["long"]), isOrdered: false,
                        hasElements: false)
                ]))
        for i in 0..<30 {
            try await test.set(
                "users/u\(i)", ["n": .integer(Int64(i)), "long": .string("x"), "l": .array([.integer(1), .double(1)])])
            try await test.set("users/u\(i)/orders/o", ["a": .integer(Int64(i)), "b": .map(["c": .double(2)])])
        }
        for i in 0..<10 { try await test.set("users/u\(i)", ["m": .null]) }
        try await test.commit([Write(path: try DocumentPath("users/u20"), operation: .delete)])
        try await test.store.indexesAreDone()
        return (test, test.store.engine)
    }

    private func check(_ test: TestStore) throws -> (CheckResult, [String]) {
        var problems: [String] = []
        let result = try test.store.check(report: { problems.append($0) }, progress: { _ in })
        return (result, problems)
    }

    @Test(arguments: EngineKind.allCases) func aSoundStoreHasNoProblems(kind: EngineKind) async throws {
        let (test, _) = try await filled(kind)
        let (result, problems) = try check(test)
        #expect(problems.isEmpty)
        #expect(result.problems == 0)
        #expect(result.documents == 59)
        #expect(result.changes == 71)
        #expect(result.entries > 200)
        #expect(!result.skippedIndexes)
        await test.store.shutdown()
    }

    @Test(arguments: EngineKind.allCases) func wrongEntriesAreFoundAndRebuilt(kind: EngineKind) async throws {
        let (test, engine) = try await filled(kind)
        var keys: [[UInt8]] = []
        try engine.makeReadSession().read { reader in
            try reader.scanKeys(.index, .all, reverse: false) { key in
                keys.append(key)
                return true
            }
        }
        let gone = keys.enumerated().filter { $0.offset % 20 == 3 }.map(\.element)
        let altered = keys.enumerated().filter { $0.offset % 20 == 7 }.map(\.element)
        // A value that no document has, and documents that don't exist.
        let strays = try [("users/u1", 77), ("users/missing", 1), ("users/u1/orders/none", 5)].flatMap { path, value in
            let path = try DocumentPath(path)
            let document = Document(
                path: path, fields: ["n": .integer(Int64(value))], createTime: test.clock.timestamp(),
                updateTime: test.clock.timestamp())
            return IndexEntries.all(of: document, IndexCatalog()).filter { !keys.contains($0.key) }
        }
        try engine.write { writer in
            for key in gone { try writer.delete(.index, key) }
            for key in altered {
                let row = try writer.get(.index, key) ?? []
                try writer.put(.index, key, [row[0] ^ 1] + row.dropFirst())
            }
            for entry in strays { try writer.put(.index, entry.key, entry.row) }
        }
        let (result, problems) = try check(test)
        #expect(result.isRepairable)
        #expect(result.problems == problems.count)
        #expect(problems.count { $0.contains("lacks an index entry") } == gone.count)
        #expect(problems.count { $0.contains("is wrong") } == altered.count)
        #expect(problems.count { $0.contains("there is an index entry") } == strays.count)
        #expect(strays.count >= 3)
        #expect(problems.contains { $0.contains("users/missing") })
        try await test.store.rebuildIndexes()
        try await test.store.indexesAreDone()
        #expect(try check(test).1.isEmpty)
        await test.store.shutdown()
    }

    @Test(arguments: EngineKind.allCases) func damagedDocumentsAndRowsAreNamed(kind: EngineKind) async throws {
        let (test, engine) = try await filled(kind)
        let path = try DocumentPath("users/u3")
        let key = DocumentKeys.key(of: path)
        try engine.write { writer in
            try writer.put(.documents, key, [1, 2, 3])
            var changes: [[UInt8]] = []
            try writer.scanKeys(.changes, .all, reverse: true) { key in
                changes.append(key)
                return changes.count < 5
            }
            try writer.put(.changes, changes[4], [9])
            try writer.delete(.changes, changes[3])
            try writer.put(.completions, [1, 5], [1])
        }
        let (result, problems) = try check(test)
        #expect(result.problems >= 5)
        #expect(problems.contains { $0.contains("\"users/u3\" can't be read") })
        #expect(problems.contains { $0.contains("row of the change log is wrong") })
        #expect(problems.contains { $0.contains("is not in the log") })
        #expect(problems.contains { $0.contains("the change log has") })
        #expect(problems.contains { $0.contains("a kept answer can't be read") })
        await test.store.shutdown()
    }

    /// As a block or a page that can't be read: what is elsewhere is checked nevertheless.
    @Test func damageThatTheEngineFindsEndsNoMoreThanItsPart() async throws {
        let engine = UnreadRows()
        let test = try TestStore(engine: engine)
        for i in 0..<5 { try await test.set("users/u\(i)", ["n": .integer(Int64(i))]) }
        let damage = StorageError(.damaged, "the block can't be read")
        let document = DocumentKeys.key(of: try DocumentPath("users/u3"))
        engine.errors.withLock { $0 = [document: damage] }
        var (result, problems) = try check(test)
        #expect(problems == ["the document \"users/u3\" can't be read: the block can't be read"])
        #expect(result.documents == 5)
        #expect(!result.hasEngineDamage)

        var changes: [[UInt8]] = []
        try engine.makeReadSession().read { reader in
            try reader.scanKeys(.changes, .all, reverse: false) { key in
                changes.append(key)
                return true
            }
        }
        let change = changes[2]
        engine.errors.withLock { $0 = [change: damage] }
        try engine.write { try $0.put(.completions, [1, 5], [1]) }
        (result, problems) = try check(test)
        #expect(result.documents == 5)
        #expect(result.hasEngineDamage)
        #expect(result.problems == problems.count)
        #expect(problems.contains("the change log can't be checked any further: the block can't be read"))
        #expect(problems.contains { $0.contains("a kept answer can't be read") })
        await test.store.shutdown()
    }
}
