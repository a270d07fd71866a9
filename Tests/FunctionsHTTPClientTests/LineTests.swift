import Testing

@testable import FunctionsHTTPClient

/// How bytes become lines, and lines become events.
@Suite struct LineTests {
    /// The lines of parts, however they are cut.
    private func lines(_ parts: [[UInt8]]) -> [String] {
        var splitter = LineSplitter()
        var lines: [String] = []
        for part in parts {
            splitter.append(part)
            while let line = splitter.next() { lines.append(line) }
        }
        if let last = splitter.end() { lines.append(last) }
        return lines
    }

    @Test(arguments: [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\nb", ["a", "b"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\r", ["a", "b"]),
        ("\n\r\n\r\r\n", ["", "", "", ""]),
        ("ä\n世界\n", ["ä", "世界"]),
    ])
    func linesEndWithAnyLineBreak(text: String, expected: [String]) {
        let bytes = Array(text.utf8)
        #expect(lines([bytes]) == expected)
        #expect(lines(bytes.map { [$0] }) == expected, "byte by byte")
        for cut in bytes.indices {
            #expect(lines([Array(bytes[..<cut]), Array(bytes[cut...])]) == expected, "cut at \(cut)")
        }
    }

    private func events(_ text: String) -> [ServerSentEvent] {
        var parser = EventParser()
        return lines([Array(text.utf8)]).compactMap { parser.receive($0) }
    }

    @Test func fieldsBecomeEvents() {
        #expect(
            events("event: add\ndata: 1\ndata: 2\nid: 7\n\n:comment\n\ndata:x\n\n")
                == [ServerSentEvent(event: "add", data: "1\n2", id: "7"), ServerSentEvent(data: "x", id: "7")])
        #expect(events("\u{FEFF}data: a\n\n") == [ServerSentEvent(data: "a")])
        #expect(events("data\n\n") == [ServerSentEvent(data: "")])
        #expect(events("data:  two spaces\n\n") == [ServerSentEvent(data: " two spaces")])
        #expect(events("retry: 5\nunknown: x\n\n") == [])
        #expect(events("event: lost\n\ndata: kept\n\n") == [ServerSentEvent(data: "kept")])
        #expect(events("data: not ended") == [])
        #expect(events("data\ndata\n\n") == [ServerSentEvent(data: "\n")])
        #expect(events("data: a:b\n\n") == [ServerSentEvent(data: "a:b")])
    }
}
