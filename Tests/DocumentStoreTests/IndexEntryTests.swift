import TestSupport
import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

struct IndexEntryTests {
    private func index(
        _ fields: [(String, IndexDefinition.Kind)], _ scope: IndexDefinition.Scope = .collection
    ) -> IndexCatalog {
        IndexCatalog(indexes: [
            .init(
                id: 7,
                definition: IndexDefinition(
                    collectionID: "c", scope: scope,
                    fields: fields.map { .init(FieldPath(segments: $0.0.split(separator: ".").map(String.init)), $0.1) }
                ),
                state: .building)
        ])
    }

    private func composite(
        _ fields: [String: Value], _ catalog: IndexCatalog, path: String = "c/d"
    ) throws -> [IndexEntry] {
        let zero = Timestamp(microseconds: 0)
        let document = Document(path: try DocumentPath(path), fields: fields, createTime: zero, updateTime: zero)
        return IndexEntries.all(of: document, catalog).filter { $0.key[0] == 7 }
    }

    @Test func onlyDocumentsWithAllFieldsAreInACompositeIndex() throws {
        let catalog = index([("a", .ascending), ("m.x", .ascending)])
        #expect(try composite(["a": .null, "m": .map(["x": .null])], catalog).count == 1)
        #expect(try composite(["a": .null, "m": .map([:])], catalog).isEmpty)
        #expect(try composite(["m": .map(["x": .null])], catalog).isEmpty)
        #expect(try composite(["a": .null, "m": .map(["x": .null])], catalog, path: "e/d").isEmpty)
    }

    @Test func anArrayHasAnEntryForEachOfItsElementsOnce() throws {
        let catalog = index([("tags", .contains), ("a", .ascending)])
        let tags = Value.array([.integer(1), .double(1), .integer(2), .integer(2)])
        #expect(try composite(["tags": tags, "a": .null], catalog).count == 2)
        #expect(try composite(["tags": .array([]), "a": .null], catalog).isEmpty)
        #expect(try composite(["tags": .integer(1), "a": .null], catalog).isEmpty)
    }

    /// What the elements' entries have in common is encoded once.
    @Test(arguments: [0, 1, 2], [IndexDefinition.Kind.ascending, .descending])
    func anElementsKeyIsThatOfAllFieldsInTurn(place: Int, kind: IndexDefinition.Kind) throws {
        var fields: [(String, IndexDefinition.Kind)] = [("a", .ascending), ("b", kind)]
        fields.insert(("tags", .contains), at: place)
        var generator = SeededGenerator(seed: 4)
        let path = try DocumentPath("c/d")
        for _ in 0..<50 {
            let elements = (0..<6).map { _ in Value.random(using: &generator) }
            let long = Value.string(String(repeating: "x", count: Int.random(in: 1400...1600, using: &generator)))
            let values: [String: Value] = [
                "a": .random(using: &generator), "b": generator.once(in: 2) ? long : .double(1),
                "tags": .array(elements),
            ]
            var expected: [[UInt8]: IndexEntry.Flags] = [:]
            for element in elements {
                var key = CompositeKey.prefix(index: 7, collection: "c")
                var flags: IndexEntry.Flags = kind == .descending ? .namesDescend : []
                for (name, kind) in fields {
                    let value = name == "tags" ? element : values[name] ?? .null
                    if CompositeKey.append(value, kind, to: &key) { flags.insert(.isTruncated) }
                    flags.remove(.isDouble)
                    if case .double = value { flags.insert(.isDouble) }
                }
                CompositeKey.append(path, .collection, descending: kind == .descending, to: &key)
                expected[key] = flags
            }
            let found = try composite(values, index(fields))
            #expect(Dictionary(uniqueKeysWithValues: found.map { ($0.key, $0.flags) }) == expected)
        }
    }

    @Test func rowsTellWhatKeysDont() throws {
        let long = Value.string(String(repeating: "x", count: 2000))
        let flags = { (fields: [String: Value], kind: IndexDefinition.Kind) throws in
            try composite(fields, index([("a", .ascending), ("b", kind)])).map(\.flags)
        }
        #expect(try flags(["a": .double(1), "b": .integer(1)], .ascending) == [[]])
        #expect(try flags(["a": .integer(1), "b": .double(1)], .descending) == [[.isDouble, .namesDescend]])
        #expect(try flags(["a": long, "b": .null], .ascending) == [.isTruncated])
    }

    @Test(
        arguments: [IndexDefinition.Scope.collection, .collectionGroup], [IndexDefinition.Kind.ascending, .descending])
    func keysSortAsTheIndexSays(scope: IndexDefinition.Scope, kind: IndexDefinition.Kind) throws {
        let catalog = index([("a", .ascending), ("b", kind)], scope)
        var generator = SeededGenerator(seed: 3)
        var all: [(entry: IndexEntry, a: Value, b: Value, path: DocumentPath)] = []
        for id in ["a", "a!", "a\u{0}", "b", "ab"] {
            for _ in 0..<12 {
                let (a, b) = (Value.integer(.random(in: 0...2, using: &generator)), Value.random(using: &generator))
                let path = scope == .collection ? "c/\(id)" : "x/\(id)/c/\(id)"
                let entry = try #require(try composite(["a": a, "b": b], catalog, path: path).first)
                #expect(entry.documentText == (scope == .collection ? id : path))
                all.append((entry, a, b, try DocumentPath(path)))
            }
        }
        for x in all {
            for y in all where x.entry.key != y.entry.key {
                var order = Value.compare(x.a, y.a)
                if order == .same {
                    let byB = Value.compare(x.b, y.b)
                    let rest = byB == .same ? DocumentPath.compare(x.path, y.path) : byB
                    order = kind == .descending ? rest.reversed : rest
                }
                let found = x.entry.key.lexicographicallyPrecedes(y.entry.key) ? ValueOrder.ascending : .descending
                #expect(found == order)
            }
        }
    }

    @Test(arguments: EngineKind.allCases)
    func anIntegerThatBecomesADoubleIsRewritten(kind: EngineKind) async throws {
        try await withStore(kind) { test in
            try await test.store.configureIndexes(
                IndexConfiguration(indexes: [index([("a", .ascending), ("b", .ascending)]).indexes[0].definition]))
            for value in [Value.integer(1), .double(1), .integer(1)] {
                try await test.set("c/d", ["a": .integer(1), "b": value, "t": .array([value])])
                try await test.store.indexesAreDone()
                #expect(try IndexInspection(test.store.engine).isExact())
            }
        }
    }

    @Test func compositeEntriesCountTowardsTheLimits() async throws {
        try await withStore { test in
            let two = IndexConfiguration(indexes: [index([("t", .contains), ("a", .ascending)]).indexes[0].definition])
            let elements = (0..<25_000).map { Value.integer(Int64($0)) }
            try await test.set("c/d", ["t": .array(elements), "a": .null])
            try await test.store.configureIndexes(two)
            let error = await refusal {
                try await test.set("c/e", ["t": .array(elements), "a": .null])
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("50,004 index entries") == true || error?.message.contains("50004") == true)
            #expect(error?.message.contains("40,000, the limit") == true)
            try await test.set("c/e", ["t": .array(elements)])
        }
    }

    @Test func whatIsExemptDoesNotCountTowardsTheLimits() async throws {
        try await withStore { test in
            let elements = Value.array((0..<45_000).map { .integer(Int64($0)) })
            #expect(await refusal { try await test.set("c/d", ["t": elements]) }?.code == .invalidArgument)
            try await test.store.configureIndexes(
                IndexConfiguration(exemptions: [
                    FieldExemption(
                        collectionID: "c", field: FieldPath(segments: ["t"]), isOrdered: false, hasElements: false)
                ]))
            try await test.set("c/d", ["t": elements])
            #expect(try IndexInspection(test.store.engine).entries.isEmpty)
        }
    }
}
