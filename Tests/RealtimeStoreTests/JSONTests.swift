import RealtimeModel
import RealtimeStore
import StoreTestSupport
import TestSupport
import Testing

/// The JSON of what is stored is that of the same node in memory.
struct JSONTests {
    /// Objects whose first child, last child or number of children decides whether they are written as arrays.
    @Test(arguments: [
        (#"{"0":1,"1":2,"2":3}"#, "[1,2,3]"),
        (#"{"1":2}"#, "[null,2]"),
        (#"{"2":3,"3":4}"#, "[null,null,3,4]"),
        (#"{"2":3}"#, #"{"2":3}"#),
        (#"{"0":1,"3":4}"#, "[1,null,null,4]"),
        (#"{"0":1,"4":5}"#, #"{"0":1,"4":5}"#),
        (#"{"0":1,"a":2}"#, #"{"0":1,"a":2}"#),
        (#"{"a":1,"b":2}"#, #"{"a":1,"b":2}"#),
        (#"{"-1":1,"0":2,"1":3}"#, #"{"-1":1,"0":2,"1":3}"#),
        (#"{"00":1,"1":2}"#, #"{"00":1,"1":2}"#),
        (#"{"0":1,"01":2}"#, #"{"0":1,"01":2}"#),
        (#"{"0":1,"01":2,"1":3}"#, #"{"0":1,"1":3,"01":2}"#),
        (#"{"0":{"0":1,"a":2},"1":{"1":3}}"#, #"[{"0":1,"a":2},[null,3]]"#),
        (#"{"a":{"0":{"b":{"0":1}}}}"#, #"{"a":[{"b":[1]}]}"#),
        (#"{"0":{".value":1,".priority":2},".priority":3}"#, "[1]"),
    ])
    func arraysAreWrittenAsInMemory(json: String, written: String) async throws {
        let fixture = try RealtimeFixture(.memory)
        try await fixture.set("node", json)
        #expect(try await fixture.json("node", as: .plain) == written)
        let node = try await fixture.read { try $0.node(at: RealtimePath("node")) }
        #expect(node.map { String(decoding: $0.json(as: .plain), as: UTF8.self) } == written)
        #expect(try await fixture.json("", as: .plain) == #"{"node":\#(written)}"#)
        try await fixture.close()
    }

    /// In whatever order a client applies what it is sent.
    @Test(.endsHangs, arguments: ["a", "-M", "5"]) func anObjectThatAnUpdateMakesHasItsPriority(key: String)
        async throws
    {
        let fixture = try RealtimeFixture(.memory)
        let view = await ListenerView(fixture.store, try RealtimePath("p"))
        try await fixture.update("p", #"{"\#(key)":5,".priority":1}"#)
        #expect(try await fixture.json("p") == #"{"\#(key)":5,".priority":1}"#)
        #expect(try fixture.problems() == [])
        let node = try await fixture.read { try $0.node(at: RealtimePath("p")) }
        #expect(view.node == node)
        try await fixture.close()
    }

    /// Whatever a query would find below it: so an export sees that there is something.
    @Test(arguments: [nil, RealtimeQuery(index: .key, limit: .first(1))] as [RealtimeQuery?])
    func aLeafIsShownAsItIsByShallowReads(query: RealtimeQuery?) async throws {
        let fixture = try RealtimeFixture(.memory)
        try await fixture.set("node", "7")
        let text = try await fixture.read { state in
            var text: [UInt8] = []
            try state.writeShallowJSON(at: RealtimePath("node"), matching: query) { text += $0 }
            return String(decoding: text, as: UTF8.self)
        }
        #expect(text == "7")
        try await fixture.close()
    }

    /// A rule that demands a range holds for it, too.
    @Test func aLeafIsInNoRange() async throws {
        let fixture = try RealtimeFixture(.memory)
        try await fixture.set("node", "7")
        let bound = RealtimeQuery.Bound(value: nil, key: .key(try RealtimeKey("me")), isInclusive: true)
        let text = try await fixture.read { state in
            var text: [UInt8] = []
            let query = RealtimeQuery(index: .key, start: bound, end: bound)
            try state.writeShallowJSON(at: RealtimePath("node"), matching: query) { text += $0 }
            return String(decoding: text, as: UTF8.self)
        }
        #expect(text == "null")
        try await fixture.close()
    }
}
