import RealtimeModel
import Testing

/// Values that are kept as text until they are written.
@Suite struct WriteValueTextTests {
    @Test(arguments: [
        "null", "1", #""a""#, #"{".sv":"timestamp"}"#, #"{".sv":{"increment":-2.5}}"#,
        #"{"a":{".sv":"timestamp"},"b":[1,{"c":{".sv":{"increment":1}}}]}"#,
        #"{".value":1,".priority":{".sv":"timestamp"}}"#, #"{".value":{".sv":"timestamp"},".priority":3}"#,
        #"{"a":{"b":true,".priority":{".sv":{"increment":4}}},".priority":"p"}"#,
        #"{"a":{".value":{".sv":{"increment":1}},".priority":{".sv":"timestamp"}}}"#,
    ]) func theTextIsReadAsTheSameValue(_ text: String) throws {
        let target = try RealtimeTarget("x")
        let value = try RealtimeWriteValue(parsing: Array(text.utf8), at: target)
        let again = try RealtimeWriteValue(parsing: value.json, at: target)
        #expect(Set(value.serverValues) == Set(again.serverValues))
        let existing = RealtimeNode(7)
        #expect(value.resolved(now: 5, existing: existing) == again.resolved(now: 5, existing: existing))
    }

    @Test func anUpdatesTextStartsAtTheRoot() throws {
        let text = #"{"a":{".sv":"timestamp"},"b/c":null,"d/.priority":2}"#
        let update = try RealtimeUpdate(parsing: Array(text.utf8), at: try RealtimePath("x/y"))
        let again = try RealtimeUpdate(parsing: update.json, at: .root)
        #expect(again.entries.map(\.target) == update.entries.map(\.target))
        #expect(
            again.entries.map { $0.value.resolved(now: 5, existing: nil) }
                == update.entries.map { $0.value.resolved(now: 5, existing: nil) })
    }
}
