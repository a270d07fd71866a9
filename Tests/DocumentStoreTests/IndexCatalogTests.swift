@testable import CommitPipeline
import TestSupport
import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import Testing

struct IndexCatalogTests {
    private func exemption(_ field: String?, isOrdered: Bool, hasElements: Bool) -> FieldExemption {
        FieldExemption(
            collectionID: "c", field: field.map { FieldPath(segments: $0.split(separator: ".").map(String.init)) },
            isOrdered: isOrdered, hasElements: hasElements)
    }

    private func has(_ rules: FieldRules, _ field: String) -> [Bool] {
        let rules = rules.rules(of: FieldPath(segments: field.split(separator: ".").map(String.init)))
        return [rules.isOrdered, rules.hasElements]
    }

    @Test func aFieldHasWhatTheNearestExemptionSays() {
        let rules = FieldRules([
            [
                exemption("m.x", isOrdered: true, hasElements: true),
                exemption(nil, isOrdered: true, hasElements: false),
                exemption("m", isOrdered: false, hasElements: false),
            ]
        ])
        #expect(has(rules, "a") == [true, false])
        #expect(has(rules, "m") == [false, false])
        #expect(has(rules, "m.y.z") == [false, false])
        #expect(has(rules, "m.x") == [true, true])
        #expect(has(rules, "m.x.y") == [true, true])
        #expect(has(FieldRules(), "a") == [true, true])
    }

    @Test func severalListsLeaveWhatAllOfThemLeave() {
        let rules = FieldRules([
            [exemption("m", isOrdered: false, hasElements: true)],
            [
                exemption(nil, isOrdered: true, hasElements: false),
                exemption("m.x", isOrdered: true, hasElements: true),
            ],
        ])
        #expect(has(rules, "a") == [true, false])
        #expect(has(rules, "m") == [false, false])
        #expect(has(rules, "m.x") == [false, true])
    }

    @Test func liftingAnExemptionTakesEffectAfterItsEntriesAreThere() throws {
        var catalog = IndexCatalog()
        let field = FieldPath(segments: ["a"])
        let none = IndexConfiguration()
        let exempt = IndexConfiguration(exemptions: [exemption("a", isOrdered: false, hasElements: true)])
        #expect(catalog.configure(exempt).collections == ["c"])
        #expect(!catalog.isOrdered(field, collectionID: "c"))
        #expect(catalog.hasElements(field, collectionID: "c"))
        catalog.finish(try #require(IndexPass.next(for: catalog)))
        #expect(IndexPass.next(for: catalog) == nil)
        #expect(catalog.configure(none).collections == ["c"])
        #expect(!catalog.isOrdered(field, collectionID: "c"))
        #expect(catalog.of("c")?.kept.isWhole == true)
        // Exempted again before that: the pass that was under way doesn't settle it.
        let pass = try #require(IndexPass.next(for: catalog))
        #expect(pass.without(catalog.configure(exempt)) == nil)
        #expect(!catalog.isOrdered(field, collectionID: "c"))
        _ = catalog.configure(none)
        catalog.finish(try #require(IndexPass.next(for: catalog)))
        #expect(catalog.isOrdered(field, collectionID: "c"))
        #expect(catalog.of("c") == nil)
    }

    @Test func exemptionsThatSayTheSameInOtherWordsNeedNoWork() {
        var catalog = IndexCatalog()
        let whole = IndexConfiguration(exemptions: [exemption("a", isOrdered: true, hasElements: true)])
        #expect(catalog.configure(whole).isEmpty)
        #expect(IndexPass.next(for: catalog) == nil)
    }

    @Test func idsAreNeverUsedAgain() {
        var catalog = IndexCatalog()
        let index = IndexDefinition(
            collectionID: "c", fields: [.init(FieldPath(segments: ["a"]), .ascending)])
        let first = catalog.configure(IndexConfiguration(indexes: [index])).added.map(\.id)
        _ = catalog.configure(IndexConfiguration())
        catalog.dropped(first[0])
        let second = catalog.configure(IndexConfiguration(indexes: [index, index])).added.map(\.id)
        #expect(second == [first[0] + 1])
    }

    @Test func collectionIDsAreComparedByTheirBytes() {
        let catalog = IndexCatalog(indexes: [
            .init(
                id: 1,
                definition: IndexDefinition(
                    collectionID: "caf\u{E9}", fields: [.init(FieldPath(segments: ["a"]), .ascending)]),
                state: .ready)
        ])
        #expect(catalog.ready(.collection, collectionID: "caf\u{E9}").count == 1)
        #expect(catalog.ready(.collection, collectionID: "cafe\u{301}").isEmpty)
        #expect(catalog.ready(.collectionGroup, collectionID: "caf\u{E9}").isEmpty)
    }
}

/// Stores whose catalog is damaged, or from before there was one.
struct StoredCatalogTests {
    private static let definition = IndexDefinition(
        collectionID: "c",
        fields: [.init(FieldPath(segments: ["a"]), .ascending), .init(FieldPath(segments: ["b"]), .descending)])

    private func filled(_ engine: any StorageEngine) async throws {
        try await withStore(engine: engine) { test in
            for i in 0..<20 {
                try await test.set("c/\(i)", ["a": .integer(Int64(i)), "b": .double(1)])
                try await test.set("c/\(i)/c/x", ["a": .array([.integer(Int64(i))])])
            }
            try await test.store.configureIndexes(IndexConfiguration(indexes: [Self.definition]))
            try await test.store.indexesAreDone()
        }
    }

    private func opening(_ engine: any StorageEngine) -> StorageError? {
        do {
            _ = try DocumentStore(engine: engine, now: ManualClock().timestamp)
            return nil
        } catch {
            return error as? StorageError
        }
    }

    @Test(arguments: EngineKind.allCases)
    func aDamagedCatalogIsRefusedAndCanBeReplaced(kind: EngineKind) async throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        try await filled(engine)
        let key = Array("indexes".utf8)
        let row = try #require(try engine.makeReadSession().read { try $0.get(.meta, key) })
        for position in row.indices {
            var damaged = row
            damaged[position] ^= 4
            try engine.write { try $0.put(.meta, key, damaged) }
            #expect(opening(engine)?.kind == .damaged, "byte \(position)")
        }
        for cut in [0, 1, 8, row.count - 1] {
            try engine.write { try $0.put(.meta, key, Array(row.prefix(cut))) }
            #expect(opening(engine)?.kind == .damaged, "\(cut) bytes")
        }
        try engine.write { try $0.delete(.meta, key) }
        let error = opening(engine)
        #expect(error?.kind == .damaged)
        #expect(error?.message.contains("data check --repair") == true)

        // Entries are wrong in every way too.
        try engine.write { storage in
            var keys: [[UInt8]] = []
            try storage.scanKeys(.index, .all, reverse: false) { key in
                keys.append(key)
                return true
            }
            for key in keys where key.count % 2 == 0 { try storage.delete(.index, key) }
            for stray in [[1, 2, 3], [5, 2, 3], [5], [5, 99, 0, 99], [200]] as [[UInt8]] {
                try storage.put(.index, stray, [0, 0, 0, 1])
            }
        }
        #expect(try DocumentStore.replaceDamagedCatalog(in: engine))
        #expect(try !DocumentStore.replaceDamagedCatalog(in: engine))
        try await withStore(engine: engine) { test in
            try await test.store.configureIndexes(IndexConfiguration(indexes: [Self.definition]))
            try await test.store.indexesAreDone()
            let inspection = try IndexInspection(engine)
            #expect(inspection.isExact())
            #expect(inspection.catalog.ready(.collection, collectionID: "c").count == 1)
        }
        try engine.close()
    }

    /// Counting them up would overflow.
    @Test(arguments: [(.max, 1), (-5, 1), (1, .max)] as [(Int64, UInt32)])
    func numbersThatNoStoreReachesAreDamage(generation: Int64, nextID: UInt32) throws {
        try MemoryEngine().write { storage in
            try IndexCatalog(generation: generation, nextID: nextID).write(to: storage)
            #expect(throws: StorageError.self) { try IndexCatalog.read(storage, generation: generation) }
        }
    }

    /// The repair stores the new catalog's generation before there is a version again.
    @Test(arguments: EngineKind.allCases)
    func aStoreWithoutItsVersionKeepsTheReplacedCatalog(kind: EngineKind) async throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        try await filled(engine)
        try engine.write { try $0.delete(.meta, Array("version".utf8)) }
        #expect(try DocumentStore.replaceDamagedCatalog(in: engine))
        try await withStore(engine: engine) { test in
            try await test.store.configureIndexes(IndexConfiguration(indexes: [Self.definition]))
            try await test.store.indexesAreDone()
            let inspection = try IndexInspection(engine)
            #expect(inspection.isExact())
            #expect(inspection.documents.count == 40)
        }
        try engine.close()
    }

    @Test(arguments: EngineKind.allCases)
    func anOlderStoresEntriesAreRebuilt(kind: EngineKind) async throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        try await filled(engine)
        try engine.write { storage in
            // As it was: a version alone, and rows that don't tell doubles.
            var version = ByteWriter()
            version.write(signed: try StoreVersion.read(storage))
            try storage.put(.meta, Array("version".utf8), version.bytes)
            try storage.delete(.meta, Array("indexes".utf8))
            for (key, row) in try IndexInspection(engine).entries {
                if key[0] == 7 { try storage.delete(.index, key) }
                if key[0] == 1 { try storage.put(.index, key, [row[0] & 1] + row.dropFirst()) }
            }
        }
        #expect(try !IndexInspection(engine).isExact())
        try await withStore(engine: engine) { test in
            var query = Query(collectionID: "c")
            query.filter = .field(FieldPath(segments: ["a"]), .greaterThanOrEqual, .integer(10))
            #expect(try await test.query(query).count == 10)
            try await test.store.indexesAreDone()
            #expect(try IndexInspection(engine).isExact())
        }
        try engine.close()
    }
}
