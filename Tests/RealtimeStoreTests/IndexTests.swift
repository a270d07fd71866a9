import DocumentModel
import RealtimeModel
import RealtimeStore
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

/// The indexes that `.indexOn` asks for.
struct IndexTests {
    private static func definition(_ parents: String, _ child: String) throws -> RealtimeIndexDefinition {
        let steps = try RealtimePath(parents).keys.map { key in
            key.string == "*" ? RealtimeIndexDefinition.Step.any : .key(key)
        }
        return RealtimeIndexDefinition(
            parents: steps, index: child == ".value" ? .value : .child(try RealtimePath(child)))
    }

    /// A store whose background work comes in small steps, and only with jobs.
    private func fixture(_ kind: EngineKind) async throws -> RealtimeFixture {
        var configuration = RealtimeStoreConfiguration()
        (configuration.maxSweptRows, configuration.maxIdleSweptRows) = (7, 7)
        let fixture = try RealtimeFixture(kind, configuration: configuration)
        for room in 0..<10 {
            let messages = (0..<20).map { #""m\#($0)":{"time":\#(($0 * 7) % 20),"by":"u\#($0 % 3)"}"# }
            try await fixture.set("rooms/r\(room)", "{\(messages.joined(separator: ","))}")
        }
        return fixture
    }

    @Test(.endsHangs, arguments: EngineKind.allCases)
    func anIndexIsBuiltThroughRestarts(kind: EngineKind) async throws {
        let fixture = try await fixture(kind)
        let definitions = [try Self.definition("rooms/*", "time"), try Self.definition("rooms/*", "by")]
        try await fixture.store.configureIndexes(definitions, in: RealtimeFixture.namespace)
        for round in 0..<5 {
            try await fixture.set("rooms/r\(round)/m3/time", "\(100 + round)")
            try await fixture.reopen()
            #expect(try fixture.problems() == [])
        }
        try await fixture.store.settle()
        #expect(try await fixture.store.indexes(in: RealtimeFixture.namespace).allSatisfy(\.isReady))
        #expect(try fixture.problems() == [])
        let room = try RealtimePath("rooms/r2")
        let query = RealtimeQuery(index: .child(try RealtimePath("time")), limit: .last(2))
        let matches = try await fixture.read { try $0.matches(of: query, at: room) }
        #expect(matches.isIndexed)
        #expect(matches.entries.map(\.value) == [.leaf(19), .leaf(102)])
        try await fixture.close()
    }

    @Test(.endsHangs, arguments: EngineKind.allCases)
    func anIndexThatIsNotNeededLeavesNothing(kind: EngineKind) async throws {
        let fixture = try await fixture(kind)
        func entries() throws -> Int {
            try fixture.engine.makeReadSession().read { try $0.count(.tree, .all) }
        }
        let before = try entries()
        let time = try Self.definition("rooms/*", "time")
        try await fixture.store.configureIndexes([time], in: RealtimeFixture.namespace)
        try await fixture.store.settle()
        #expect(try entries() == before + 200)
        try await fixture.store.configureIndexes([], in: RealtimeFixture.namespace)
        try await fixture.set("rooms/r1/m0", "null")
        try await fixture.reopen()
        try await fixture.store.settle()
        #expect(try entries() == before - 2)
        // One that is dropped while it is being built.
        try await fixture.store.configureIndexes([time], in: RealtimeFixture.namespace)
        try await fixture.store.configureIndexes([], in: RealtimeFixture.namespace)
        try await fixture.store.settle()
        #expect(try entries() == before - 2)
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    @Test(.endsHangs) func whatIsDeletedWhileItsIndexIsRemovedLeavesNothing() async throws {
        let fixture = try await fixture(.memory)
        try await fixture.store.configureIndexes(
            [try Self.definition("rooms/*", "time"), try Self.definition("rooms/*", "by")],
            in: RealtimeFixture.namespace)
        try await fixture.store.settle()
        try await fixture.store.configureIndexes([], in: RealtimeFixture.namespace)
        for room in (0..<10).reversed() {
            for message in 0..<20 { try await fixture.set("rooms/r\(room)/m\(message)", "null") }
            let exists = try await fixture.read { try $0.exists(at: RealtimePath("rooms/r\(room)")) }
            #expect(!exists)
        }
        try await fixture.store.settle()
        let left = try fixture.engine.makeReadSession().read { try $0.count(.tree, KeyRange(prefix: [1])) }
        #expect(left == 0)
        try await fixture.close()
    }

    @Test func aQueryWithoutIndexIsBounded() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.limits.maxQueryNodes = 10
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        try await fixture.set("few", #"{"a":1,"b":2,"c":{"x":1}}"#)
        try await fixture.set("many", "[1,2,3,4,5,6,7,8,9,10,11]")
        let query = RealtimeQuery(index: .value, limit: .first(1))
        let few = try await fixture.read { try $0.matches(of: query, at: RealtimePath("few")) }
        #expect(few.entries.map(\.key.string) == ["a"])
        #expect(!few.isIndexed)
        let failure = await #expect(throws: RealtimeFailure.self) {
            try await fixture.read { try $0.matches(of: query, at: RealtimePath("many")) }
        }
        #expect(failure?.code == .tooManyNodes)
        #expect(failure?.message.contains(#"".indexOn": ".value""#) == true)
        try await fixture.close()
    }
}
