import RealtimeModel
import RealtimeTesting
import StrictJSON
import TestSupport
import Testing

/// Rows of a database as lines of JSON.
@Suite struct RealtimeRowLineTests {
    private func parse(_ text: String) throws -> RealtimeRowLine {
        try Array(text.utf8).withUnsafeBytes { try RealtimeRowLine(parsing: $0) }
    }

    private func write(_ row: RealtimeRowLine) -> String {
        var writer = JSONWriter()
        writer.line(row)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func linesRoundTrip() throws {
        let rows = [
            RealtimeRowLine(.root, true, priority: nil), RealtimeRowLine(.root, nil, priority: "p"),
            RealtimeRowLine(try path("a/7/é\u{1F6D2}"), "q\"\\\n", priority: 2.5),
            RealtimeRowLine(
                try path("b"), .number(RealtimeNumber(Int64.min)), priority: .number(RealtimeNumber(0x1p63))),
            RealtimeRowLine(try path("\"quoted\\"), 0, priority: nil),
        ]
        for row in rows {
            let text = write(row)
            #expect(text.last == "\n")
            #expect(try parse(text) == row, "\(text)")
        }
        #expect(write(rows[2]) == #"{"path":"a/7/é🛒","value":"q\"\\\n","priority":2.5}"# + "\n")
        #expect(write(rows[1]) == #"{"path":"","priority":"p"}"# + "\n")
    }

    @Test func membersMayHaveAnyOrder() throws {
        let row = try parse(#" { "priority" : 1 , "value":false, "path":"/a//b/" } "#)
        #expect(row == RealtimeRowLine(try path("a/b"), false, priority: 1))
    }

    @Test(arguments: [
        ("", "object", 0), ("[]", "object", 0), (#"{"path":"a","value":1"#, "comma", 21),
        (#"{"path":"a","value":1}x"#, "continues", 22), (#"{"value":1}"#, "no path", 0),
        (#"{"path":"a"}"#, "neither", 0), (#"{"path":7,"value":1}"#, "path is not a string", 8),
        (#"{"path":"a.b","value":1}"#, "is not a path", 8),
        (#"{"path":"a","value":null}"#, "value is not a string", 20),
        (#"{"path":"a","value":{}}"#, "value is not a string", 20), (#"{"path":"a","value":[1]}"#, "value", 20),
        (#"{"path":"a","priority":true}"#, "priority is not", 23), (#"{"path":"a","priority":null}"#, "priority", 23),
        (#"{"path":"a","value":1,"value":2}"#, "value is repeated", 22), (#"{"path":"a","size":1}"#, "\"size\"", 12),
        (#"{"path":"a","value":tru}"#, "value should be here", 20), (#"{"path" "a"}"#, "colon", 8),
        (#"{"path":"a","value":1,}"#, "key in quotes", 22),
    ]) func wrongLinesAreRefusedWithTheirPlace(text: String, message: String, offset: Int) {
        let problem = #expect(throws: RealtimeRowLine.Problem.self) { try parse(text) }
        #expect(problem?.message.contains(message) == true, "\(problem?.message ?? "")")
        #expect(problem?.offset == offset)
    }

    @Test func limitsApply() {
        let deep = (0...RealtimeLimits.maxDepth).map { "k\($0)" }.joined(separator: "/")
        let long = String(repeating: "x", count: RealtimeLimits.maxStringBytes + 1)
        for (text, message) in [
            (#"{"path":"\#(deep)","value":1}"#, "deep"), (#"{"path":"a","value":"\#(long)"}"#, "10 MiB"),
            (#"{"path":"\#(String(repeating: "k", count: RealtimeLimits.maxKeyBytes + 1))","value":1}"#, "not a path"),
        ] {
            let problem = #expect(throws: RealtimeRowLine.Problem.self) { try parse(text) }
            #expect(problem?.message.contains(message) == true, "\(problem?.message ?? "")")
        }
    }
}
