import CommitPipeline
import DocumentModel
import RealtimeModel
import RealtimeStore
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

/// Large values are stored beside the tree, and a write puts them into place.
struct StagingTests {
    private static let path = RealtimePath(unchecked: [RealtimeKey(unchecked: "a")])

    private static func set(_ staged: StagedValue?) throws -> RealtimeWrite {
        .set(RealtimeTarget(path), RealtimeWriteValue(try #require(staged)))
    }

    private func staged(_ json: String, _ fixture: RealtimeFixture) async throws -> StagedValue? {
        try await fixture.staged(Array(json.utf8), at: Self.path)
    }

    @Test func aStagedValueIsSeenOnceItIsWritten() async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("a/old", "1")
        let value = try await staged(#"{"c":[true,null,"x"],"b":{".priority":2,"n":1}}"#, fixture)
        #expect(value?.rowCount == 4)
        #expect(try await fixture.json() == #"{"a":{"old":1}}"#)
        try await fixture.commit(try Self.set(value))
        #expect(
            try await fixture.json() == #"{"a":{"b":{"n":1,".priority":2},"c":{"0":true,"2":"x"}}}"#)
        try await fixture.store.settle()
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    @Test func nothingIsStagedOfNothing() async throws {
        let fixture = try RealtimeFixture()
        for json in ["null", "{}", "[null,{}]", #"{"a":{".value":null,".priority":1},".priority":3}"#] {
            #expect(try await staged(json, fixture) == nil, "\(json)")
        }
        try await fixture.close()
    }

    /// What the reader into memory refuses is refused too, with the same error.
    @Test func refusalsAreThoseOfSmallValues() async throws {
        let fixture = try RealtimeFixture()
        let deep = String(repeating: #"{"k":"#, count: 40) + "1" + String(repeating: "}", count: 40)
        for json in [
            "", "{", #"{"a":1"#, #"{"a" 1}"#, "[1,]", #"{"a":1}x"#, #"{"b":1,"a":2,"b":3}"#, #"{"b":1,"a":2,"a":null}"#,
            #"{"a.b":1}"#, #"{".what":1}"#, #"{".value":1,"a":2}"#, #"{".value":{}}"#, #"{".value":1,".value":2}"#,
            #"{"a":{".priority":true,"b":1}}"#, #"{"x/y":1}"#, deep, "{\"a\u{1}\":1}", #"{"a":tru}"#, "[1 2]",
        ] {
            let target = RealtimeTarget(Self.path)
            let expected = #expect(throws: RealtimeError.self, "\(json)") {
                try RealtimeWriteValue(parsing: Array(json.utf8), at: target)
            }
            let failure = await #expect(throws: StagingFailure.self, "\(json)") {
                _ = try await staged(json, fixture)
            }
            guard case .text(let error)? = failure else {
                Issue.record("\(json): \(String(describing: failure))")
                continue
            }
            #expect(error == expected, "\(json)")
        }
        try await fixture.store.settle()
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    @Test func serverValuesAreReadIntoMemory() async throws {
        let fixture = try RealtimeFixture()
        for json in [
            #"{".sv":"timestamp"}"#, #"{"a":{".priority":{".sv":"timestamp"},"b":1}}"#,
            #"{"a":{".value":{".sv":{"increment":1}}}}"#,
        ] {
            let failure = await #expect(throws: StagingFailure.self, "\(json)") { _ = try await staged(json, fixture) }
            guard case .needsMemory? = failure else {
                Issue.record("\(json): \(String(describing: failure))")
                continue
            }
        }
        try await fixture.close()
    }

    /// Rows of values that are released, or that the end of the host has left, are removed.
    @Test(.endsHangs, arguments: EngineKind.allCases)
    func rowsThatArentWrittenAreRemoved(kind: EngineKind) async throws {
        let fixture = try RealtimeFixture(kind)
        let json = "[" + (0..<5_000).map { "{\"n\":\($0)}" }.joined(separator: ",") + "]"
        func rows() throws -> Int {
            try fixture.engine.makeReadSession().read { try $0.count(.tree, KeyRange(prefix: [1])) }
        }
        var value = try await staged(json, fixture)
        try await fixture.store.settle()
        #expect(try rows() == 5_000, "the value is held")
        #expect(try fixture.problems() == [])
        _ = value
        value = nil
        try await fixture.store.settle()
        #expect(try rows() == 0)
        let left = try await staged(json, fixture)
        try await fixture.reopen()
        try await fixture.store.settle()
        #expect(try rows() == 0, "a restart releases")
        #expect(try fixture.problems() == [])
        _ = left
        try await fixture.close()
    }

    @Test(.endsHangs) func aValueIsRefusedIfIndexesHaveChangedMeanwhile() async throws {
        let fixture = try RealtimeFixture()
        let value = try await staged(#"{"x":{"n":1}}"#, fixture)
        let definition = RealtimeIndexDefinition(parents: [.key(RealtimeKey(unchecked: "a"))], index: .value)
        try await fixture.store.configureIndexes([definition], in: RealtimeFixture.namespace)
        let failure = await #expect(throws: RealtimeFailure.self) {
            try await fixture.commit(try Self.set(value))
        }
        #expect(failure?.code == .unavailable)
        #expect(try await fixture.json() == "null")
        try await fixture.close()
    }

    @Test func aValueIsWrittenOnce() async throws {
        let fixture = try RealtimeFixture()
        let write = try Self.set(try await staged(#"{"x":1}"#, fixture))
        try await fixture.commit(write)
        try await fixture.set("a", "2")
        try await fixture.store.settle()
        let failure = await #expect(throws: RealtimeFailure.self) { try await fixture.commit(write) }
        #expect(failure?.code == .unavailable)
        #expect(try await fixture.json() == #"{"a":2}"#)
        try await fixture.close()
    }

    /// Nodes without what the index orders are looked at some at a time too.
    @Test(.endsHangs) func anIndexIsBuiltInStepsWhereFewNodesHaveIt() async throws {
        let fixture = try RealtimeFixture()
        let name = RealtimeKey(unchecked: "messages")
        let child = RealtimeQuery.Index.child(RealtimePath(unchecked: [RealtimeKey(unchecked: "t")]))
        try await fixture.store.configureIndexes(
            [RealtimeIndexDefinition(parents: [.any, .any, .key(name)], index: child)], in: RealtimeFixture.namespace)
        let rooms = (0..<9_000).map { number in
            number % 4_000 == 3_999
                ? #""r\#(number)":{"messages":{"m":{"t":1},"n":{"t":0}}}"# : #""r\#(number)":{"x":1}"#
        }
        try await fixture.commit(try Self.set(try await staged("{\(rooms.joined(separator: ","))}", fixture)))
        #expect(try fixture.problems() == [])
        let path = try RealtimePath("a/r7999/messages")
        let keys = try await fixture.read { state in
            try state.matches(of: RealtimeQuery(index: child), at: path).entries.map(\.key.string)
        }
        #expect(keys == ["n", "m"])
        try await fixture.store.settle()
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    /// Indexes of nodes above, at and below the value have their entries.
    @Test(.endsHangs) func indexesHaveTheValue() async throws {
        let fixture = try RealtimeFixture()
        let child = RealtimeQuery.Index.child(RealtimePath(unchecked: [RealtimeKey(unchecked: "n")]))
        let key = RealtimeIndexDefinition.Step.key(RealtimeKey(unchecked: "a"))
        try await fixture.store.configureIndexes(
            [
                RealtimeIndexDefinition(parents: [], index: child),
                RealtimeIndexDefinition(parents: [key], index: child),
                RealtimeIndexDefinition(parents: [.any, .any], index: .value),
            ], in: RealtimeFixture.namespace)
        try await fixture.set("a", #"{"n":7,"old":{"n":1}}"#)
        try await fixture.commit(try Self.set(try await staged(#"{"x":{"n":2},"y":{"n":1},"n":3}"#, fixture)))
        #expect(try fixture.problems() == [])
        let keys = try await fixture.read { state in
            try state.matches(of: RealtimeQuery(index: child), at: Self.path).entries.map(\.key.string)
        }
        #expect(keys == ["n", "y", "x"])
        try await fixture.store.settle()
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    /// A listener gets its own part, and one whose part is too large for a push ends.
    @Test(.endsHangs) func listenersGetWhatTheValueHasForThem() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.windowLimits.maxBytes = 1_000
        let fixture = try RealtimeFixture(configuration: configuration)
        try await fixture.set("a/x", "1")
        let below = await ListenerView(fixture.store, try RealtimePath("a/x"))
        let beside = await ListenerView(fixture.store, try RealtimePath("b"))
        let above = await ListenerView(fixture.store, .root)
        let query = await ListenerView(
            fixture.store, .root, RealtimeQuery(index: .key, limit: .first(1)))
        let text = String(repeating: "t", count: 2_000)
        try await fixture.commit(try Self.set(try await staged(#"{"x":2,"y":"\#(text)"}"#, fixture)))
        #expect(below.node == RealtimeNode(.number(2)))
        #expect(beside.takePushes().isEmpty)
        #expect(above.failure?.code == .tooLarge)
        try await fixture.store.settle()
        let tree = try await fixture.read { try $0.node(at: .root) }
        #expect(query.node == tree)
        try await fixture.set("a/x", "3")
        #expect(below.node == RealtimeNode(.number(3)))
        try await fixture.close()
    }

    /// However many places a large value changes, the others wait for a bounded number of bytes: the listeners that are left
    /// end, and come back.
    @Test(.endsHangs) func manyListenersOfALargeValueAreNotAllReadForAtOnce() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.maxReloadedBytes = 100
        let fixture = try RealtimeFixture(configuration: configuration)
        let keys = (0..<50).map { "k\($0)" }
        var views: [ListenerView] = []
        for key in keys { views.append(await ListenerView(fixture.store, try RealtimePath("a/\(key)"))) }
        let json = "{" + keys.map { "\"\($0)\":\"0123456789\"" }.joined(separator: ",") + "}"
        try await fixture.commit(try Self.set(try await staged(json, fixture)))
        let node = RealtimeNode(.string("0123456789"))
        let reloaded = views.filter { $0.node == node }
        #expect((1...10).contains(reloaded.count))
        #expect(views.count { $0.failure?.code == .tooLarge } == keys.count - reloaded.count)
        try await fixture.close()
    }
}
