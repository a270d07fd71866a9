import DocumentModel
import Testing

@testable import ControlProtocol

/// The encoding and decoding of the host's responses to commands.
@Suite struct ControlResponseTests {
    @Test func responsesRoundTrip() throws {
        let listing = PauseListing(
            everythingSince: nil, functions: [PauseReport(function: "purchase", reason: "paused", since: nil)])
        let line = try ControlResponse.line(listing)
        #expect(line.last == UInt8(ascii: "\n"))
        #expect(try ControlResponse.read(line, as: PauseListing.self) == listing)
    }

    @Test func theHostsErrorIsThrown() {
        let line = DataWire.line(DocumentError(.notFound, "there is no \"x\""))
        let error = #expect(throws: DocumentError.self) { try ControlResponse.read(line, as: PauseListing.self) }
        #expect(error == DocumentError(.notFound, "there is no \"x\""))
    }

    @Test(arguments: ["", "{", "[]", "{\"answer\":7}"]) func anUnknownLineIsAnInternalError(line: String) {
        let error = #expect(throws: DocumentError.self) {
            try ControlResponse.read(Array(line.utf8), as: PauseListing.self)
        }
        #expect(error?.code == .internal)
    }

    @Test func linesOfDataCommandsRoundTrip() throws {
        let events: [DataEvent] = [.progress(done: 3, total: nil), .progress(done: 3, total: 9), .problem("a \"b\"")]
        for event in events { #expect(try DataWire.read(DataWire.line(event), isExport: false) == .event(event)) }
        let outcome = DataOutcome(["documents": 12, "bytes": 7])
        #expect(try DataWire.read(DataWire.line(outcome), isExport: true) != .outcome(outcome))
        #expect(try DataWire.read(DataWire.line(outcome), isExport: false) == .outcome(outcome))
        let omission = DataEvent.problem("the document \"a/b\" can't be read")
        #expect(try DataWire.read(DataWire.line(omission), isExport: true) == .event(omission))
        let error = DocumentError(.dataLoss, "the store is damaged")
        #expect(try DataWire.read(DataWire.line(error), isExport: true) == .error(error))
    }

    @Test func linesAreSplitWhereverTheChunksEnd() throws {
        let text = Array("one\ntwo\n\nthree".utf8)
        for size in 1...text.count {
            var buffer = LineBuffer()
            var lines: [String] = []
            for start in stride(from: 0, to: text.count, by: size) {
                buffer.append(text[start..<min(start + size, text.count)])
                while let line = try buffer.next() { lines.append(String(decoding: line, as: UTF8.self)) }
            }
            #expect(lines == ["one", "two", ""])
            #expect(String(decoding: buffer.rest, as: UTF8.self) == "three")
        }
    }

    @Test func aLineBeyondTheLimitIsRejected() throws {
        var buffer = LineBuffer(maxLineBytes: 4)
        buffer.append(Array("1234".utf8))
        #expect(try buffer.next() == nil)
        buffer.append(Array("5".utf8))
        #expect(throws: DocumentError.self) { try buffer.next() }
    }

    @Test func cursorsRoundTrip() throws {
        let cursors = [DeliveryCursor(areDead: false), DeliveryCursor(areDead: true)]
        for cursor in cursors { #expect(try DeliveryCursor(cursor.text) == cursor) }
        for text in ["", "alive", "dead/f", "dead/f/not-an-id"] {
            #expect(throws: DocumentError.self) { try DeliveryCursor(text) }
        }
    }
}
