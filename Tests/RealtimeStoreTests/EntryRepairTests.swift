import CommitPipeline
import DocumentModel
import RealtimeModel
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

@testable import RealtimeStore

/// A repair makes the entries of indexes agree with the nodes.
@Suite(.endsHangs) struct EntryRepairTests {
    private static let tree: UInt32 = 1
    private static let age = RealtimeQuery.Index.child(RealtimePath(unchecked: [RealtimeKey(unchecked: "age")]))

    private static func key(_ path: [UInt8]) -> [UInt8] { TreeKey.header(ofTree: tree) + path }

    private func fixture(_ kind: EngineKind = .memory, users: Int) async throws -> RealtimeFixture {
        let fixture = try RealtimeFixture(kind)
        let parent = RealtimeIndexDefinition.Step.key(RealtimeKey(unchecked: "users"))
        try await fixture.store.configureIndexes(
            [RealtimeIndexDefinition(parents: [parent], index: Self.age)], in: RealtimeFixture.namespace)
        let members = (0..<users).map { #""u\#($0)":{"age":\#($0 % 50),".priority":\#($0)}"# }
        try await fixture.set("users", "{\(members.joined(separator: ","))}")
        try await fixture.store.settle()
        #expect(try fixture.problems() == [])
        return fixture
    }

    /// The stored keys of all entries.
    private func entries(_ storage: any StorageReader) throws -> [[UInt8]] {
        let prefix = Self.key(TreeKey.of(try RealtimePath("users")) + [TreeKey.entryMarker])
        var keys: [[UInt8]] = []
        try storage.scanKeys(.tree, KeyRange(prefix: prefix), reverse: false) { key in
            keys.append(key)
            return true
        }
        return keys
    }

    private func repair(_ fixture: RealtimeFixture) async throws -> Int {
        try await fixture.store.repairIndexes(until: BlockingWork.Cancellation())
    }

    @Test(arguments: EngineKind.allCases)
    func lostEntriesAreMadeAgain(kind: EngineKind) async throws {
        // More rows than one step looks at.
        let fixture = try await fixture(kind, users: 3_000)
        var lost = 0
        try fixture.engine.write { storage in
            let all = try entries(storage)
            #expect(all.count == 6_000)
            for (number, key) in all.enumerated() where number % 7 == 3 || number == 0 || number == all.count - 1 {
                try storage.delete(.tree, key)
                lost += 1
            }
        }
        #expect(try fixture.problems().count == lost)
        #expect(try await repair(fixture) == lost)
        #expect(try fixture.problems() == [])
        #expect(try await repair(fixture) == 0)
        let path = try RealtimePath("users")
        let found = try await fixture.read { state in
            try state.matches(of: RealtimeQuery(index: Self.age), at: path).entries.count
        }
        #expect(found == 3_000)
        try await fixture.close()
    }

    @Test func wrongEntriesAreRemoved() async throws {
        let fixture = try await fixture(users: 5)
        let users = TreeKey.of(try RealtimePath("users"))
        let number = try #require(
            try fixture.engine.makeReadSession().read { storage in
                try RealtimeCatalog.read(storage, generation: 0).namespaces[RealtimeFixture.namespace]?.indexes.first?
                    .number
            })
        func entry(_ key: String, _ value: RealtimeLeaf, of parent: [UInt8], index: UInt32) -> [UInt8] {
            IndexEntryKey.of(
                RealtimeIndexEntry(value: .leaf(value), key: RealtimeKey(unchecked: key)),
                in: IndexEntryKey.prefix(of: parent, index: index))
        }
        let right = try fixture.engine.makeReadSession().read { try entries($0) }
        let wrong = [
            entry("u1", 49, of: users, index: number), entry("gone", 1, of: users, index: number),
            entry("u1", 1, of: users, index: 99), entry("u2", 7, of: users, index: IndexEntryKey.priorities),
            entry("age", 1, of: TreeKey.of(try RealtimePath("users/u1")), index: IndexEntryKey.priorities),
            entry("x", 1, of: TreeKey.of(try RealtimePath("gone")), index: IndexEntryKey.priorities),
            users + [TreeKey.entryMarker, 0], entry("u1", 1, of: users, index: number) + [9],
        ]
        try fixture.engine.write { storage in
            for path in wrong { try storage.put(.tree, Self.key(path), []) }
        }
        #expect(try fixture.problems().count == wrong.count)
        #expect(try await repair(fixture) == wrong.count)
        #expect(try fixture.problems() == [])
        #expect(try fixture.engine.makeReadSession().read { try entries($0) } == right)
        try await fixture.close()
    }

    /// What can't be derived is reported further.
    @Test func aDamagedNodeStays() async throws {
        let fixture = try await fixture(users: 3)
        let node = Self.key(TreeKey.of(try RealtimePath("users/u1/age")))
        try fixture.engine.write { storage in
            var row = try #require(try storage.get(.tree, node))
            row[1] ^= 1
            try storage.put(.tree, node, row)
        }
        let before = try fixture.problems()
        #expect(!before.isEmpty)
        #expect(try await repair(fixture) == 0)
        #expect(try fixture.problems() == before)
        try await fixture.close()
    }

    /// One node would refuse all commits otherwise, since they share a batch with the work on the index.
    @Test(arguments: EngineKind.allCases) func anIndexIsBuiltAroundADamagedNode(kind: EngineKind) async throws {
        let fixture = try RealtimeFixture(kind)
        try await fixture.set("users", #"{"u0":{"age":1},"u1":{"age":2},"u2":{"age":3}}"#)
        let node = Self.key(TreeKey.of(try RealtimePath("users/u1/age")))
        try fixture.engine.write { storage in
            var row = try #require(try storage.get(.tree, node))
            row[1] ^= 1
            try storage.put(.tree, node, row)
            // Notes of earlier work, which are damaged too.
            for number in (0 as UInt64)..<4 {
                var note = RowKind.indexPass.key(RealtimeFixture.namespace)
                KeyBytes.append(number, to: &note)
                try storage.put(.tree, note, [1, 2, 3, 4, 5, 6])
            }
        }
        let parent = RealtimeIndexDefinition.Step.key(RealtimeKey(unchecked: "users"))
        try await fixture.store.configureIndexes(
            [RealtimeIndexDefinition(parents: [parent], index: Self.age)], in: RealtimeFixture.namespace)
        try await fixture.set("other", "1")
        try await fixture.store.settle()
        let path = try RealtimePath("users")
        let found = try await fixture.read { try $0.matches(of: RealtimeQuery(index: Self.age), at: path) }
        #expect(found.isIndexed)
        #expect(found.entries.map(\.key.string) == ["u0", "u2"])
        try await fixture.close()
    }

    /// Others wait for each step. Whether nodes have what the index orders is seen only when they are visited.
    @Test(
        arguments: [
            [.key(RealtimeKey(unchecked: "users")), .any, .key(RealtimeKey(unchecked: "none"))],
            [.key(RealtimeKey(unchecked: "users")), .any, .any],
            [.key(RealtimeKey(unchecked: "users")), .any, .key(RealtimeKey(unchecked: "posts"))],
        ] as [[RealtimeIndexDefinition.Step]])
    func workOnAnIndexVisitsFewNodesInAStep(parents: [RealtimeIndexDefinition.Step]) async throws {
        let fixture = try RealtimeFixture()
        let members = (0..<100).map { #""u\#($0)":{"age":1,"posts":{"p":{"age":2}}}"# }
        try await fixture.set("users", "{\(members.joined(separator: ","))}")
        var index = RealtimeIndex(
            number: 1, definition: RealtimeIndexDefinition(parents: parents, index: Self.age), state: .building)
        try fixture.engine.write { storage in
            let before = try storage.count(.tree, .all)
            for state in [RealtimeIndex.State.building, .dropping] {
                index.state = state
                let pass = IndexPass(RealtimeFixture.namespace, TreeLayout(tree: Self.tree), index, storage)
                var steps = 1
                while try !pass.advance(atMost: 10) { steps += 1 }
                #expect((10...40).contains(steps), "\(state)")
            }
            let after = try storage.count(.tree, .all)
            #expect(after == before)
        }
        try await fixture.close()
    }

    @Test func theCheckSaysWhatARepairMayFix() async throws {
        let fixture = try await fixture(users: 2)
        func result() throws -> TreeCheckResult? {
            let found = try fixture.pipeline.check(report: { _ in }, progress: { _ in })
            return found.kinds.lazy.compactMap { $0 as? TreeCheckResult }.first
        }
        #expect(try result()?.isRepairable == false)
        let rows = try #require(try result()?.rows)
        try fixture.engine.write { storage in
            let all = try entries(storage)
            try storage.delete(.tree, all[0])
        }
        #expect(try result()?.isRepairable == true)
        #expect(try result()?.rows == rows - 1)
        try await fixture.close()
    }
}
