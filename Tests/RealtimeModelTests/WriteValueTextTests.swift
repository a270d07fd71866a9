import StrictJSON
import RealtimeTesting
import Testing

@testable import RealtimeModel

/// Values that are kept as text until they are written.
@Suite struct WriteValueTextTests {
    @Test(arguments: [
        "null", "1", #""a""#, #"{".sv":"timestamp"}"#, #"{".sv":{"increment":-2.5}}"#,
        #"{"a":{".sv":"timestamp"},"b":[1,{"c":{".sv":{"increment":1}}}]}"#,
        #"{".value":1,".priority":{".sv":"timestamp"}}"#, #"{".value":{".sv":"timestamp"},".priority":3}"#,
        #"{"a":{"b":true,".priority":{".sv":{"increment":4}}},".priority":"p"}"#,
        #"{"a":{".value":{".sv":{"increment":1}},".priority":{".sv":"timestamp"}}}"#,
        // Two keys that are equal text and aren't equal keys.
        "{\"caf\u{e9}\":{\".sv\":\"timestamp\"},\"cafe\u{301}\":{\".sv\":{\"increment\":2}}}",
    ]) func theTextIsReadAsTheSameValue(_ text: String) throws {
        let target = try RealtimeTarget("x")
        let value = try RealtimeWriteValue(parsing: Array(text.utf8), at: target)
        let again = try RealtimeWriteValue(parsing: value.json, at: target)
        #expect(Set(value.serverValues) == Set(again.serverValues))
        let existing = RealtimeNode(7)
        #expect(value.resolved(now: 5, existing: existing) == again.resolved(now: 5, existing: existing))
    }

    /// As if it were written later, to what the rest has left.
    @Test(arguments: [
        ("1", "a/b", "2"), (#"{"a":{".sv":"timestamp"},"c":1}"#, "a", #"{".sv":{"increment":2}}"#),
        (#"{"a":{".sv":"timestamp"},"c":1}"#, "a/b", #"{"d":{".sv":"timestamp"}}"#),
        (#"{"a":{".sv":"timestamp"},"c":1}"#, "a/b", "null"), (#"{"a":{"b":{".sv":"timestamp"}}}"#, "a", "null"),
        (#"{"a":{"b":{".sv":"timestamp"},".priority":{".sv":"timestamp"}}}"#, "a/b", "3"),
        (#"{"a":{"b":1},".priority":{".sv":"timestamp"}}"#, "", "true"),
        (#"{"a":{"b":1,".priority":{".sv":"timestamp"}}}"#, "a/b", "null"),
        (#"{"a":{"b":1,".priority":{".sv":"timestamp"}},"c":1}"#, "a/b", "null"),
    ]) func aPartIsReplaced(_ text: String, _ path: String, _ part: String) throws {
        let path = try RealtimePath(path)
        var value = try RealtimeWriteValue(parsing: Array(text.utf8), at: RealtimeTarget(.root))
        var expected = value.resolved(now: 5, existing: nil)
        let part = try RealtimeWriteValue(parsing: Array(part.utf8), at: RealtimeTarget(path))
        expected.set(part.resolved(now: 5, existing: nil), at: path)
        value.set(part, at: path)
        #expect(value.resolved(now: 5, existing: nil) == expected)
        #expect(value.serverValues.allSatisfy { expected?[$0.target.path] != nil })
    }

    @Test func thePriorityOfAPartIsReplaced() throws {
        let text = #"{"a":{"b":1,".priority":{".sv":"timestamp"}}}"#
        var value = try RealtimeWriteValue(parsing: Array(text.utf8), at: RealtimeTarget(.root))
        value.setPriority(.number(RealtimeNumber(3)), at: try RealtimePath("a"))
        value.setPriority(.number(RealtimeNumber(4)), at: try RealtimePath("none"))
        #expect(value.serverValues.isEmpty)
        let node = value.resolved(now: 5, existing: nil)
        #expect(node?[try RealtimePath("a")]?.priority == .number(RealtimeNumber(3)))
        #expect(node?.children.count == 1)
    }

    /// Its time grows with the number, not with its square.
    @Test func manyServerValuesHaveAText() throws {
        let members = (0..<50_000).map { "\"k\($0)\":{\".sv\":\"timestamp\"}" }
        let text = "{" + members.joined(separator: ",") + "}"
        let value = try RealtimeWriteValue(parsing: Array(text.utf8), at: RealtimeTarget(.root))
        let again = try RealtimeWriteValue(parsing: value.json, at: RealtimeTarget(.root))
        #expect(again.serverValues.count == 50_000)
        #expect(again.nodeCount == value.nodeCount)
        #expect(value.resolved(now: 5, existing: nil) == again.resolved(now: 5, existing: nil))
    }

    @Test func aWriteHasALimitedNumberOfNodes() throws {
        for (text, isRefused) in [("[1,2,3]", false), (#"[1,{"a":2},3]"#, true), ("[null,null,null,null]", true)] {
            let result = Array(text.utf8).withUnsafeBytes { bytes in
                var reader = RealtimeValueReader(JSONScanner(bytes), at: .root, maxNodes: 4)
                return Result { () throws(RealtimeError) in try reader.writeValue() }
            }
            if case .failure(let error) = result {
                #expect(isRefused && error.problem == .tooManyNodes)
            } else {
                #expect(!isRefused)
            }
        }
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
