import Foundation
import FunctionsRuntime
import FunctionsTesting
import Testing

@Suite struct HTTPResponseTests {
    private let tester: FunctionsTester

    init() throws { tester = try FunctionsTester(HTTPFixtures()) }

    private func answer(_ path: String) async throws -> TestResponse {
        try await tester.request("answers", target: path)
    }

    @Test func eachKindHasItsStatusAndHeaders() async throws {
        let html = try await answer("/html")
        #expect(html.status == 201)
        #expect(html.headers["Content-Type"] == "text/html; charset=utf-8")
        #expect(html.headers["X-A"] == "1")
        #expect(try await answer("/text").headers.values(for: "Content-Type") == ["application/graphql"])
        let redirect = try await answer("/redirect")
        #expect(redirect.status == 308)
        #expect(redirect.headers["Location"] == "https://example.com/")
        let stream = try await answer("/stream")
        #expect(stream.headers["X-A"] == "1")
        #expect(stream.text.hasPrefix("0,1,2,3,"))
        #expect(stream.body.count == 3890 + 700_000)
    }

    @Test func cookiesAreSetBesideEachOther() async throws {
        #expect(
            try await answer("/cookies").headers.values(for: "set-cookie") == [
                "session=a%20b%3Bc%25; Path=/x; Domain=shop.example; Max-Age=60; "
                    + "Expires=Sat, 21 Nov 2026 08:00:51 GMT; HttpOnly; Secure; SameSite=Lax",
                "old=; Path=/; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            ])
    }

    // MARK: Files

    private func withFiles(_ body: () async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let directory = root.appending(path: "public")
        try FileManager.default.createDirectory(
            at: directory.appending(path: "sub"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        try Data("secret".utf8).write(to: root.appending(path: "secret.txt"))
        try Data("<p>Hi</p>".utf8).write(to: directory.appending(path: "index.HTML"))
        try Data(repeating: 7, count: 700_001).write(to: directory.appending(path: "sub/large.bin"))
        try FileManager.default.createSymbolicLink(
            at: directory.appending(path: "link.txt"), withDestinationURL: root.appending(path: "secret.txt"))
        try Data("KEY=1".utf8).write(to: directory.appending(path: ".env"))
        try FileManager.default.createDirectory(
            at: directory.appending(path: "sub/.git"), withIntermediateDirectories: true)
        try Data("x".utf8).write(to: directory.appending(path: "sub/.git/config"))
        mkfifo(directory.appending(path: "pipe").path, 0o600)
        try await HTTPFixtures.$directory.withValue(directory.path) { try await body() }
    }

    @Test func aCookieForOtherSitesSaysSo() {
        func header(_ sameSite: Cookie.SameSite) -> String? {
            var response = HTTPResponse()
            response.setCookie(Cookie("a", "b", secure: true, sameSite: sameSite))
            return response.headers["Set-Cookie"]
        }
        #expect(header(.none) == "a=b; Path=/; Secure; SameSite=None")
        #expect(header(.browserDefault) == "a=b; Path=/; Secure")
    }

    /// With a mark before it, a semicolon is a part of another character.
    @Test func aPathOfACookieIsNoFurtherAttribute() {
        var response = HTTPResponse()
        response.setCookie(Cookie("a", "b", path: "/t/x\u{600};Domain=example.com"))
        #expect(response.headers["Set-Cookie"]?.utf8.contains(UInt8(ascii: "=")) == true)
        #expect(response.headers["Set-Cookie"]?.unicodeScalars.contains("D") == false)
    }

    @Test func valuesOfDifferentTypesAreAJSONObject() throws {
        struct Item: Encodable { var id: Int }
        let (count, name) = (3, "tea")
        let missing: Int? = nil
        func text(_ response: HTTPResponse) -> String {
            guard case .bytes(let bytes) = response.body else { return "" }
            return String(decoding: bytes, as: UTF8.self)
        }
        let response = try HTTPResponse.json([
            "ok": true, "count": count, "name": name, "price": 1.5, "large": Int64.max, "missing": missing, "none": nil,
            "item": Item(id: 7), "tags": ["a", 1, [true, "x"]], "nested": ["b": 1, "a": "z"],
        ])
        #expect(
            text(response)
                == #"{"ok":true,"count":3,"name":"tea","price":1.5,"large":9223372036854775807,"missing":null,"none":null,"#
                + #""item":{"id":7},"tags":["a",1,[true,"x"]],"nested":{"a":"z","b":1}}"#)
        #expect(throws: EncodingError.self) { try HTTPResponse.json(["a": 1, "b": { 1 }]) }
        #expect(text(try .json(["a": 1])) == #"{"a":1}"#)
        #expect(text(try .json(["large": Int64.max])) == #"{"large":9223372036854775807}"#)
    }

    @Test func aStreamThatFailsBeforeItsFirstWriteIsAnError() async throws {
        let answer = try await tester.request("answers", target: "/fails")
        #expect(answer.status == 404)
        #expect(answer.error?.message == "Nothing to send.")
    }

    @Test func headersAreBounded() async throws {
        let answer = try await self.answer("/headers")
        #expect(answer.status == 500)
        #expect(answer.error?.code == .internal)
    }

    /// A client that takes nothing would take an endless stream at once.
    @Test func aStreamDoesNotRunForItsHeadAlone() async throws {
        let answer = try await tester.request("answers", method: "HEAD", target: "/fails")
        #expect(answer.status == 200)
    }

    @Test func filesAreSentWithTheirType() async throws {
        try await withFiles { () async throws in
            let page = try await tester.request("files", target: "/index.HTML")
            #expect(page.status == 200)
            #expect(page.text == "<p>Hi</p>")
            #expect(page.headers["Content-Type"] == "text/html; charset=utf-8")
            #expect(page.headers["Content-Disposition"] == nil)
            let large = try await tester.request("files", target: "/sub/large.bin?as=Gr%C3%BC%C3%9Fe.bin")
            #expect(large.body == [UInt8](repeating: 7, count: 700_001))
            #expect(large.headers["Content-Type"] == "application/octet-stream")
            #expect(
                large.headers["Content-Disposition"]
                    == "attachment; filename=\"Gr__e.bin\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.bin")
        }
    }

    @Test(arguments: [
        "", "missing", "sub", "pipe", "../secret.txt", "sub/../../secret.txt", "link.txt", "/etc/passwd", ".env",
        "sub/.git/config",
    ])
    func onlyFilesOfTheDirectoryAreFound(path: String) async throws {
        try await withFiles { () async throws in
            #expect(try await tester.request("files", target: "/" + path).status == 404)
        }
    }
}
