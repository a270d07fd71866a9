import RealtimeModel
import StrictJSON
import Testing

/// Values as clients write and read them.
struct RealtimeValueTests {
    @Test(arguments: [
        ("1", "1"), ("-0", "0"), ("10.0", "10"), ("1e3", "1000"), ("0.5", "0.5"),
        ("9007199254740993", "9007199254740993"),
        ("-9223372036854775808", "-9223372036854775808"), ("1e300", "1e+300"), ("true", "true"), ("null", "null"),
        (#""a\u0000é🛒""#, #""a\u0000é🛒""#), ("[]", "null"), ("{}", "null"), (#"{"a":{"b":[{}]}}"#, "null"),
        ("[1,2]", "[1,2]"), ("[null,1]", "[null,1]"), ("[null,null,1]", #"{"2":1}"#),
        (#"{"0":"a","2":"c"}"#, #"["a",null,"c"]"#),
        (#"{"1":"a","7":"c"}"#, #"{"1":"a","7":"c"}"#), (#"{"01":1,"0":2}"#, #"{"0":2,"01":1}"#),
        (#"{"b":1,"10":2,"9":3,"-1":4,"a":5}"#, #"{"-1":4,"9":3,"10":2,"a":5,"b":1}"#),
        (#"{".value":1,".priority":5}"#, "1"), (#"{".priority":5,"a":1}"#, #"{"a":1}"#), (#"{".priority":5}"#, "null"),
        (#"{".value":null,".priority":5}"#, "null"), (" [ 1 , { \"a\" : 2 } ] ", #"[1,{"a":2}]"#),
    ])
    func restReturnsWhatWasWritten(written: String, expected: String) throws {
        #expect(try plain(written) == expected)
    }

    @Test(arguments: [
        #"{"a":{".value":1,".priority":5},"b":{"x":1,".priority":"high"}}"#, #"{".value":true,".priority":0.5}"#,
        #"{"0":{"0":1},"1":2}"#, #""text""#,
    ])
    func exportKeepsPrioritiesAndObjects(text: String) throws {
        let node = try RealtimeWriteValue(parsing: Array(text.utf8), at: RealtimeTarget(.root)).resolved(
            now: 0, existing: nil)
        #expect(String(decoding: try #require(node).json(as: .export), as: UTF8.self) == text)
    }

    private func plain(_ text: String) throws -> String {
        let value = try RealtimeWriteValue(parsing: Array(text.utf8), at: RealtimeTarget(.root))
        var writer = JSONWriter()
        writer.realtime(value.resolved(now: 0, existing: nil), as: .plain)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
