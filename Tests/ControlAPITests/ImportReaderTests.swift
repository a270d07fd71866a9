import DocumentModel
@testable import ControlProtocol
@testable import ControlAPI
import Testing
import UserStore

struct ImportReaderTests {
    private static let header =
        #"{"format":"functions-host documents","version":1,"project":"old","database":"(default)","readTime":"2026-01-01T00:00:00Z"}"#
    private static let userHeader = header.replacing(#""version":1"#, with: #""version":2,"users":true"#)
    private static let document = #"{"path":"a/b","fields":{"n":{"integerValue":"1"}}}"#

    /// Reads lines as an import does, up to the first that is rejected.
    private func read(_ lines: [String]) -> (items: [ImportReader.Item], users: [String], refusal: String?) {
        var reader = ImportReader(into: DatabaseID(project: "new"), now: 1)
        var items: [ImportReader.Item] = []
        var users: [String] = []
        do throws(DocumentError) {
            for line in lines {
                switch try reader.read(Array(line.utf8)) {
                case .document(let item): items.append(item)
                case .user(let user): users.append(user.uid)
                case nil: break
                }
            }
            try reader.finish()
        } catch {
            #expect(error.code == .invalidArgument)
            return (items, users, error.message)
        }
        return (items, users, nil)
    }

    @Test func aCompleteExportIsRead() {
        let (items, _, refusal) = read([Self.header, Self.document, #"{"count":1}"#, " \r"])
        #expect(refusal == nil)
        #expect(items.map(\.path.string) == ["a/b"])
        #expect(items.first?.fields == ["n": .integer(1)])
    }

    @Test func usersAreRead() {
        let user = #"{"user":{"localId":"ada","email":"Ada@Example.com","createdAt":"7"}}"#
        let (_, users, refusal) = read([Self.userHeader, Self.document, user, #"{"count":1,"users":1}"#])
        #expect(refusal == nil)
        #expect(users == ["ada"])
    }

    @Test func referencesToTheExportedDatabaseAreReplacedAtAnyDepth() {
        let reference = #"{"referenceValue":"projects/old/databases/(default)/documents/c/d"}"#
        let foreign = #"{"referenceValue":"projects/other/databases/(default)/documents/c/d"}"#
        let fields = #"{"m":{"mapValue":{"fields":{"l":{"arrayValue":{"values":[\#(reference)]}}}}},"f":\#(foreign)}"#
        let (items, _, _) = read([Self.header, #"{"path":"a/b","fields":\#(fields)}"#, #"{"count":1}"#])
        let text = "\(items.first?.fields ?? [:])"
        #expect(text.contains("new") && text.contains("other") && !text.contains("old"))
    }

    @Test(
        arguments: [
            ([], "nothing to import"),
            (["nonsense"], "line 1, column 1"),
            ([#"{"users":[]}"#], "line 1: this is not an export"),
            ([header.replacing(#""version":1"#, with: #""version":3"#)], "line 1, version: the export has version 3"),
            ([header, #"{"user":{"localId":"a"}}"#], "line 2: the header announces no users"),
            ([userHeader, #"{"user":{"email":"a@b.c"}}"#], "line 2, user: localId is missing"),
            ([userHeader, #"{"user":{"localId":"a","mail":"a@b.c"}}"#], "line 2, user.mail: unknown key"),
            ([userHeader, #"{"user":{"localId":"a","disabled":"no"}}"#], "line 2, user.disabled: "),
            ([userHeader, #"{"user":{"localId":"a","passwordHash":"AA=="}}"#], "passwordHash needs a hashAlgorithm"),
            ([userHeader, #"{"count":0,"users":1}"#], "line 2, users: the export should have 1 users, but has 0"),
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

    @Test(arguments: [
        DataRequest.backUp(file: "/with space/ü?&=%.sqlite", replacing: true), .backUp(file: "/b", replacing: false),
        .export(.everything), .export(.users), .importDocuments(clearing: true), .importDocuments(clearing: false),
        .check(repairing: true),
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
