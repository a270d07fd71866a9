import DocumentModel
import RealtimeModel
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

@testable import RealtimeStore

/// The check reports damaged rows, and so does what reads them.
struct TreeCheckTests {
    private static let tree: UInt32 = 1

    private func key(_ path: String) throws -> [UInt8] {
        TreeKey.header(ofTree: Self.tree) + TreeKey.of(try RealtimePath(path))
    }

    private func fixture() async throws -> RealtimeFixture {
        let fixture = try RealtimeFixture(.memory)
        try await fixture.set("users", #"{"ada":{".value":1,".priority":2},"bob":{"age":3,".priority":"x"}}"#)
        #expect(try fixture.problems() == [])
        return fixture
    }

    @Test func aDamagedNodeIsToldByReadsAndCheck() async throws {
        let fixture = try await fixture()
        let key = try key("users/bob/age")
        try fixture.engine.write { storage in
            var row = try #require(try storage.get(.tree, key))
            row[1] ^= 1
            try storage.put(.tree, key, row)
        }
        #expect(try fixture.problems().count == 1)
        for path in ["users/bob/age", "users"] {
            let failure = await #expect(throws: RealtimeFailure.self) { try await fixture.json(path) }
            #expect(failure?.code == .damaged)
        }
        // What doesn't need it can be read, and written.
        #expect(try await fixture.json("users/ada") == #"{".value":1,".priority":2}"#)
        try await fixture.set("users/ada", "5")
        try await fixture.set("users/bob", "null")
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    @Test func contradictionsAreTold() async throws {
        typealias Damage = @Sendable (any StorageWriter) throws -> Void
        let age = try key("users/bob/age"), bob = try key("users/bob"), ada = try key("users/ada")
        let below = TreeKey.of(try RealtimePath("users/ada/x"))
        let entries = KeyRange(
            lower: try key("users") + [TreeKey.entryMarker], upper: try key("users") + [TreeKey.integerMarker])
        let damages: [Damage] = [
            { try $0.delete(.tree, age) }, { try $0.delete(.tree, bob) }, { try $0.delete(.tree, ada) },
            { storage in
                let row = StoredNode(leaf: 1, priority: nil).encoded(at: below)
                try storage.put(.tree, TreeKey.header(ofTree: Self.tree) + below, row)
            },
            { storage in
                var first: [UInt8]?
                try storage.scanKeys(.tree, entries, reverse: false) { key in
                    first = key
                    return false
                }
                try storage.delete(.tree, try #require(first))
            },
            { try $0.put(.tree, TreeKey.header(ofTree: 9) + below, [1]) },
            { try $0.put(.tree, TreeKey.header(ofTree: Self.tree) + [9, 9], [1]) },
            { try $0.put(.tree, NamespaceRecord.key(RealtimeFixture.namespace), [1]) },
        ]
        for (number, damage) in damages.enumerated() {
            let fixture = try await fixture()
            try fixture.engine.write(damage)
            #expect(try !fixture.problems().isEmpty, "damage \(number)")
            try await fixture.close()
        }
    }
}
