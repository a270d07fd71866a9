@testable import RealtimeDatabaseClient
import DocumentModel
import RealtimeModel
import Testing

/// Events as they stand in a stream, and what they set.
@Suite struct EventStreamParserTests {
    private static let text =
        "event: put\ndata: {\"path\":\"/\",\"data\":1}\n\nevent: keep-alive\r\ndata: null\r\n\r\n: comment\n\ndata:a\ndata:b\nid: 7\n\n"

    @Test(arguments: [1, 2, 3, 7, 1000]) func piecesMayEndAnywhere(size: Int) {
        let bytes = Array(Self.text.utf8)
        var parser = EventStreamParser()
        var events: [EventStreamParser.Event] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            events += parser.append(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        #expect(events.map(\.name) == ["put", "keep-alive", "", ""])
        #expect(
            events.map { String(decoding: $0.data, as: UTF8.self) } == [#"{"path":"/","data":1}"#, "null", "", "a\nb"])
        #expect(events.reduce(0) { $0 + $1.byteCount } == bytes.count)
    }

    @Test func anEventMayHaveVeryManyLines() {
        var parser = EventStreamParser()
        let count = 50_000
        let events = parser.append(Array((String(repeating: "data: x\n", count: count) + "\n").utf8))
        #expect(events.map(\.data) == [Array(String(repeating: "x\n", count: count).utf8.dropLast())])
    }

    private func settings(
        _ data: String, isPatch: Bool = false, of query: RealtimeQuery? = nil
    ) throws -> [String] {
        try DatabaseEventReader(path: try RealtimePath("rooms/a"), query: query).settings(
            Array(data.utf8), isPatch: isPatch
        ).map { "\($0.target)=\($0.value.map { String(decoding: $0, as: UTF8.self) } ?? "nil")" }
    }

    @Test func putsAndPatchesSetPlacesBelowWhatIsObserved() throws {
        #expect(try settings(#"{"path":"/","data":{"b":[1,null,2]}}"#) == [#"={"b":{"0":1,"2":2}}"#])
        #expect(try settings(#"{"path":"/","data":null}"#) == ["=nil"])
        #expect(try settings(#" { "data" : 5 , "path" : "/b/c" } "#) == ["b/c=5"])
        #expect(try settings(#"{"path":"/b/.priority","data":3}"#) == ["b/.priority=3"])
        #expect(
            try settings(#"{"path":"/b","data":{"c":1,"d/e":null,".priority":2}}"#, isPatch: true)
                == ["b/.priority=2", "b/c=1", "b/d/e=nil"])
    }

    /// A service may send the whole node with its own priority, which a query leaves out.
    @Test func aQuerysFirstValueIsWhatTheQueryFinds() throws {
        let query = RealtimeQuery(index: .key, limit: .first(1))
        #expect(try settings(#"{"path":"/","data":{"a":1,"b":2,".priority":3}}"#, of: query) == [#"={"a":1}"#])
        #expect(try settings(#"{"path":"/b","data":2}"#, of: query) == ["b=2"])
    }

    @Test(arguments: [
        "", "null", "{}", #"{"path":"/"}"#, #"{"path":1,"data":1}"#, #"{"path":"/$","data":1}"#,
        #"{"path":"/","data":{"a.":1}}"#,
    ])
    func whatIsNoEventIsRefused(data: String) {
        let error = #expect(throws: DocumentError.self) { try settings(data) }
        #expect(error?.code == .internal)
    }
}
