import RealtimeModel
import StrictJSON
import RealtimeTesting
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
        (#"{"1":"a","7":"c"}"#, #"{"1":"a","7":"c"}"#), (#"{"-5":1}"#, #"{"-5":1}"#),
        (#"{"01":1,"0":2}"#, #"{"0":2,"01":1}"#),
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
    func exportKeepsPrioritiesAndObjects(written: String) throws {
        #expect(text(try node(written), as: .export) == written)
    }

    @Test func objectsWithoutPrioritiesHaveNoArrays() throws {
        let objects = RealtimeForm(hasArrays: false, hasPriorities: false)
        #expect(text(try node(#"[{".value":1,".priority":2},3]"#), as: objects) == #"{"0":1,"1":3}"#)
    }

    @Test func aTimestampIsOneForTheWholeWrite() throws {
        let written =
            #"{"a":{".sv":"timestamp"},"b":{"c":{".value":{".sv":"timestamp"},".priority":{".sv":"timestamp"}}}}"#
        #expect(
            text(try node(written)) == #"{"a":1000,"b":{"c":{".value":1000,".priority":1000}}}"#)
    }

    @Test(arguments: [
        (#"{".sv":{"increment":3}}"#, "5", "8"), (#"{".sv":{"increment":0.5}}"#, "8", "8.5"),
        (#"{".sv":{"increment":2}}"#, #""text""#, "2"), (#"{".sv":{"increment":2}}"#, "true", "2"),
        (#"{".sv":{"increment":2}}"#, #"{"a":1}"#, "2"), (#"{".sv":{"increment":-1}}"#, "null", "-1"),
        (#"{".sv":{"increment":1}}"#, "9223372036854775807", "9.223372036854776e+18"),
        (
            #"{"a":{".sv":{"increment":1}},"b":[{".sv":{"increment":2}}]}"#, #"{"a":1,"b":[10]}"#,
            #"{"a":2,"b":{"0":12}}"#
        ),
        (
            #"{".value":{".sv":{"increment":1}},".priority":{".sv":{"increment":1}}}"#, #"{".value":1,".priority":7}"#,
            #"{".value":2,".priority":8}"#
        ),
        (#"{".value":{".sv":{"increment":1}},".priority":"p"}"#, "1", #"{".value":2,".priority":"p"}"#),
        (#"{".priority":{".sv":{"increment":1}},"a":1}"#, #"{".priority":1.5,"b":2}"#, #"{"a":1,".priority":2.5}"#),
        (#"{".priority":{".sv":{"increment":1}}}"#, #"{".priority":1.5,"b":2}"#, "null"),
    ])
    func anIncrementAddsToTheNumberBefore(written: String, existing: String, expected: String) throws {
        #expect(text(try node(written, existing: try node(existing))) == expected)
    }

    @Test func aValueIsReadWithinAMessage() throws {
        let message = Array(#"{"p":"a","d":{"x":[1]},"h":"y"}"#.utf8)
        try message.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            scanner.position = 13
            let value = try RealtimeWriteValue(scanning: &scanner, at: RealtimeTarget(.root))
            #expect(text(value.resolved(now: 0, existing: nil), as: .plain) == #"{"x":[1]}"#)
            #expect(scanner.position == 22)
        }
    }

    private func plain(_ written: String) throws -> String { text(try node(written), as: .plain) }
}
