import DocumentModel
@testable import DocumentStore
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// What a client's commit may cost the writer.
@Suite(.endsHangs) struct CommitCostTests {
    /// Allows all writes but those of documents named `denied`.
    private struct Policy: AccessPolicy {
        func check(_ access: Access, in view: AccessView) throws(DocumentError) {
            let path: DocumentPath
            switch access {
            case .create(let document, _), .update(_, let document): path = document.path
            case .delete(let deleted, _), .get(let deleted, _): path = deleted
            case .list, .listed: return
            }
            guard path.id != "denied" else { throw DocumentError(.permissionDenied, "no") }
        }
    }

    private let client = OperationContext(owner: 7, policy: Policy())

    private var configuration: StoreConfiguration {
        var configuration = TestStore.configuration
        configuration.maxClientCommitCost = 100
        return configuration
    }

    private func sets(_ count: Int, fields: Int = 0) throws -> [Write] {
        let fields = Dictionary(uniqueKeysWithValues: (0..<fields).map { ("f\($0)", Value.integer(Int64($0))) })
        return try (0..<count).map { Write(path: try DocumentPath("c/d\($0)"), operation: .set(fields)) }
    }

    private func deletes(_ count: Int) throws -> [Write] {
        try (0..<count).map { Write(path: try DocumentPath("c/d\($0)"), operation: .delete) }
    }

    @Test func documentsAndTheirEntriesCount() throws {
        func cost(_ before: [String: Value]?, _ after: [String: Value]?) throws -> Int {
            let path = try DocumentPath("c/d")
            let time = Timestamp(seconds: 1, nanoseconds: 0)
            func document(_ fields: [String: Value]?) -> Document? {
                fields.map { Document(path: path, fields: $0, createTime: time, updateTime: time) }
            }
            let change = DocumentChange(path: path, before: document(before), after: document(after))
            return CommitCost([change], IndexCatalog()).total
        }
        #expect(try cost(nil, [:]) == 1)
        #expect(try cost(nil, ["a": .null, "b": .null]) == 3)
        #expect(try cost(["a": .null, "b": .null], nil) == 3)
        // What stays is not written again.
        #expect(try cost(["a": .integer(1), "b": .null], ["a": .integer(2), "b": .null]) == 3)
        #expect(try cost(nil, ["a": .array([.null, .null, .null])]) == 5)
        #expect(try cost(nil, ["a": .map(["b": .null, "c": .map(["d": .null])])]) == 5)
    }

    /// Counts what is written and deleted.
    private final class CountingWriter: StorageWriter {
        private(set) var count = 0

        func get(_ table: StorageTable, _ key: [UInt8]) -> [UInt8]? { nil }
        func scan(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
        ) {}
        func scanKeys(_ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool) {}
        func count(_ table: StorageTable, _ range: KeyRange) -> Int { 0 }
        func key(_ table: StorageTable, _ range: KeyRange, after count: Int) -> [UInt8]? { nil }
        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) { count += 1 }
        func delete(_ table: StorageTable, _ key: [UInt8]) { count += 1 }
    }

    @Test(arguments: ["c/d", "c/d/c/d"]) func theCostIsThatOfTheEntriesThatAreWritten(path: String) throws {
        let path = try DocumentPath(path)
        func index(_ id: UInt32, _ fields: (String, IndexDefinition.Kind)...) throws -> IndexCatalog.Index {
            let fields = try fields.map { IndexDefinition.Field(try FieldPath($0.0), $0.1) }
            let definition = IndexDefinition(collectionID: "c", scope: .collectionGroup, fields: fields)
            return IndexCatalog.Index(id: id, definition: definition, state: .ready)
        }
        let catalog = IndexCatalog(indexes: [
            try index(1, ("a", .contains), ("n", .ascending)), try index(2, ("m.x", .ascending), ("n", .descending)),
        ])
        let elements = (0..<50).map { Value.integer($0) }
        let many = Value.array(elements)
        let more = Value.array(elements + [.string("x")])
        let fewer = Value.array(elements.dropLast(5) + [.string("y")])
        let states: [[String: Value]?] = [
            nil, [:], ["n": .integer(1)], ["a": many], ["a": more, "n": .integer(1)], ["a": fewer, "n": .integer(1)],
            ["a": fewer, "n": .integer(2)], ["m": .map(["x": .null]), "n": .integer(2)],
            ["m": .map(["x": .null, "y": many]), "n": .integer(2)],
            ["m": .map(["x": .null, "y": more]), "n": .integer(2), "o": .null],
        ]
        let time = Timestamp(seconds: 1, nanoseconds: 0)
        for before in states {
            for after in states where before != nil || after != nil {
                let writer = CountingWriter()
                try writer.apply(IndexChanges(of: path, from: before, to: after, catalog))
                func document(_ fields: [String: Value]?) -> Document? {
                    fields.map { Document(path: path, fields: $0, createTime: time, updateTime: time) }
                }
                let change = DocumentChange(path: path, before: document(before), after: document(after))
                #expect(CommitCost([change], catalog).total == 1 + writer.count, "\(before as Any) \(after as Any)")
            }
        }
    }

    @Test(arguments: EngineKind.allCases) func aCommitThatChangesTooMuchIsRefusedBeforeTheWriter(
        kind: EngineKind
    ) async throws {
        try await withStore(kind, configuration: configuration) { test in
            #expect(try await test.commit(try sets(100), context: client).writeResults.count == 100)
            for writes in [try sets(101), try sets(20, fields: 5), try sets(5, fields: 20), try deletes(101)] {
                let error = await refusal { try await test.commit(writes, context: client) }
                #expect(error?.code == .invalidArgument)
                #expect(error?.message.contains("100 documents and index entries") == true)
            }
            // Functions may, and what they wrote counts for a client that deletes it.
            try await test.commit(try sets(20, fields: 10))
            #expect(
                await refusal { try await test.commit(try deletes(20), context: client) }?.code == .invalidArgument)
            #expect(try await test.query(Query(collectionID: "c")).count == 100)
            try await test.commit(try deletes(9), context: client)
        }
    }

    /// The policy's refusal says less than the other limits would.
    @Test func aLargeCommitIsDecidedByThePolicyAtAnyPlace() async throws {
        try await withStore(configuration: configuration) { test in
            for place in [0, 20, 40] {
                var writes = try sets(40)
                writes.insert(Write(path: try DocumentPath("c/denied"), operation: .delete), at: place)
                #expect(await refusal { try await test.commit(writes, context: client) }?.code == .permissionDenied)
            }
            #expect(try await test.query(Query(collectionID: "c")).isEmpty)
        }
    }

    @Test func aTransactionWhoseCommitIsTooLargeHasEnded() async throws {
        try await withStore(configuration: configuration) { test in
            let id = try await test.begin(context: client)
            let error = await refusal { try await test.commit(try sets(101), in: id, context: client) }
            #expect(error?.message.contains("100 documents and index entries") == true)
            #expect(
                await refusal { try await test.commit(try sets(1), in: id, context: client) }?.code == .invalidArgument)
            // One that lost hears of that.
            let loser = try await test.begin(context: client)
            _ = try await test.get("c/d0", in: loser, context: client)
            try await test.set("c/d0", ["n": .integer(1)])
            var writes = try sets(20)
            writes.append(Write(path: try DocumentPath("c/denied"), operation: .delete))
            #expect(await refusal { try await test.commit(writes, in: loser, context: client) }?.code == .aborted)
        }
    }

    @Test func independentWritesCountTogether() async throws {
        try await withStore(configuration: configuration) { test in
            let results = try await test.store.batchWrite(try sets(50, fields: 3), in: client)
            #expect(results.count == 50)
            let done = results.count { (try? $0.get()) != nil }
            #expect((25...26).contains(done))
            for case .failure(let error) in results { #expect(error.code == .resourceExhausted) }
            #expect(try await test.query(Query(collectionID: "c")).count == done)
        }
    }
}
