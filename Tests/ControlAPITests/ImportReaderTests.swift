import DocumentModel
@testable import ControlProtocol
@testable import ControlAPI
import Testing

struct ImportReaderTests {
    private static let header =
        #"{"format":"functions-host documents","version":1,"project":"old","database":"(default)","readTime":"2026-01-01T00:00:00Z"}"#
    private static let document = #"{"path":"a/b","fields":{"n":{"integerValue":"1"}}}"#

    /// Reads lines as an import does, up to the first that is rejected.
    private func read(_ lines: [String]) -> (items: [ImportReader.Item], refusal: String?) {
        var reader = ImportReader(into: DatabaseID(project: "new"))
        var items: [ImportReader.Item] = []
        do throws(DocumentError) {
            for line in lines {
                if let item = try reader.read(Array(line.utf8)) { items.append(item) }
            }
            try reader.finish()
        } catch {
            #expect(error.code == .invalidArgument)
            return (items, error.message)
        }
        return (items, nil)
    }

    @Test func aCompleteExportIsRead() {
        let (items, refusal) = read([Self.header, Self.document, #"{"count":1}"#, " \r"])
        #expect(refusal == nil)
        #expect(items.map(\.path.string) == ["a/b"])
        #expect(items.first?.fields == ["n": .integer(1)])
    }

    @Test func referencesToTheExportedDatabaseAreReplacedAtAnyDepth() {
        let reference = #"{"referenceValue":"projects/old/databases/(default)/documents/c/d"}"#
        let foreign = #"{"referenceValue":"projects/other/databases/(default)/documents/c/d"}"#
        let fields = #"{"m":{"mapValue":{"fields":{"l":{"arrayValue":{"values":[\#(reference)]}}}}},"f":\#(foreign)}"#
        let (items, _) = read([Self.header, #"{"path":"a/b","fields":\#(fields)}"#, #"{"count":1}"#])
        let text = "\(items.first?.fields ?? [:])"
        #expect(text.contains("new") && text.contains("other") && !text.contains("old"))
    }

    @Test(
        arguments: [
            ([], "nothing to import"),
            (["nonsense"], "line 1, column 1"),
            ([#"{"users":[]}"#], "line 1: this is not an export"),
            ([header.replacing(#""version":1"#, with: #""version":2"#)], "line 1, version: the export has version 2"),
            ([header.replacing(#""project":"old","#, with: "")], "line 1: the header has no project"),
            ([header], "the export is incomplete after line 1"),
            ([header, document], "the export is incomplete after line 2"),
            ([header, document, #"{"count":2}"#], "line 3, count: the export should have 2 documents, but has 1"),
            ([header, #"{"count":0}"#, document], "line 3: the export ended"),
            ([header, #"{"path":"a","fields":{}}"#], "line 2, path: "),
            ([header, #"{"path":"a/b"}"#], "line 2: a document needs a path and fields"),
            ([header, #"{"path":"a/b","fields":{},"extra":1}"#], "line 2, extra: unknown key"),
            (
                [header, #"{"path":"a/b","fields":{"x":{"arrayValue":{"values":[{"integerValue":"1.5"}]}}}}"#],
                "line 2, fields.x.arrayValue.values[0].integerValue: "
            ),
            ([header, #"{"path":"a/b","fields":{},"createTime":"yesterday"}"#], "line 2, createTime: "),
        ] as [([String], String)])
    func errorsNameLineAndField(lines: [String], message: String) {
        let refusal = read(lines).refusal
        #expect(refusal?.contains(message) == true, "\(refusal ?? "no refusal")")
    }

    @Test func linesAreSplitFromChunksOfAnySize() throws {
        let text = Array("one\n\ntwo three\nrest".utf8)
        for size in 1...text.count {
            var buffer = LineBuffer()
            var lines: [String] = []
            for start in stride(from: 0, to: text.count, by: size) {
                buffer.append(text[start..<min(start + size, text.count)])
                while let line = try buffer.next() { lines.append(String(decoding: line, as: UTF8.self)) }
            }
            #expect(lines == ["one", "", "two three"])
            #expect(String(decoding: buffer.rest, as: UTF8.self) == "rest")
        }
        var bounded = LineBuffer(maxLineBytes: 10)
        bounded.append([UInt8](repeating: 65, count: 11))
        #expect(throws: DocumentError.self) { try bounded.next() }
    }

    @Test(arguments: [
        DataRequest.backUp(file: "/with space/ü?&=%.sqlite", replacing: true), .backUp(file: "/b", replacing: false),
        .export([]), .importDocuments(clearing: true), .importDocuments(clearing: false), .check(repairing: true),
        .compact(whole: true), .clear,
    ])
    func requestsRoundTrip(request: DataRequest) throws {
        let parts = DataWire.path(request).split(separator: "?", maxSplits: 1)
        let verb = String(parts[0].dropFirst("data/".count))
        #expect(try DataWire.request(verb, query: parts.count == 2 ? String(parts[1]) : nil) == request)
    }
}

extension String {
    fileprivate func replacing(_ text: String, with other: String) -> String {
        split(separator: text, omittingEmptySubsequences: false).joined(separator: other)
    }
}
