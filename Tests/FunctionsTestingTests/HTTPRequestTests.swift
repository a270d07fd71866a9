import FunctionsRuntime
import FunctionsTesting
import Testing

@Suite struct HTTPRequestTests {
    private let tester: FunctionsTester

    init() throws { tester = try FunctionsTester(HTTPFixtures()) }

    private typealias Seen = HTTPFixtures.Seen

    @Test func targetsAreSeenAsTheyWereSentAndDecoded() async throws {
        func seen(_ target: String) async throws -> Seen {
            try await tester.request("seen", target: target).json()
        }
        #expect(try await seen("/") == Seen(ip: "127.0.0.1"))
        #expect(
            try await seen("/items/a%2Fb?tag=a%20b&tag=c+d&limit=7")
                == Seen(
                    url: "/items/a%2Fb?tag=a%20b&tag=c+d&limit=7", path: "/items/a/b", rawPath: "/items/a%2Fb",
                    ip: "127.0.0.1", tags: ["a b", "c d"], limit: 7))
        #expect(try await seen("?limit=1").url == "/?limit=1")
        // Not percent-encoding: as it was sent.
        #expect(try await seen("/100%?tag=100%").path == "/100%")
    }

    @Test func queryValuesHaveTypes() async throws {
        let bad = try await tester.request("seen", target: "/?limit=many")
        #expect(bad.status == 400)
        #expect(bad.error?.message == "limit: expected Int, found \"many\"")
        #expect(try await tester.request("size", target: "/?size=large").text == "large")
        #expect(try await tester.request("size").text == "small")
        #expect(try await tester.request("size", target: "/?size=huge").status == 400)
    }

    @Test(arguments: ["nan", "inf", "1e999", "x", ""]) func aNumberIsFinite(text: String) async throws {
        #expect(try await tester.request("number", target: "/?x=\(text)").status == 400)
    }

    @Test(arguments: [("gzip", 400), ("identity", 200), ("UTF-8", 200), ("", 200)])
    func aCompressedBodyIsRefusedByName(coding: String, status: Int) async throws {
        let answer = try await tester.request(
            "form", method: "POST",
            headers: ["Content-Type": "application/x-www-form-urlencoded", "Content-Encoding": coding],
            body: Array("name=x".utf8))
        #expect(answer.status == status)
        #expect(answer.error?.message == (status == 200 ? nil : "Content-Encoding: expected none, found gzip"))
    }

    /// Otherwise a body of separators alone would take the worker's memory.
    @Test func aFormHasAtMostAThousandFields() async throws {
        func send(_ count: Int) async throws -> TestResponse {
            let body = (0..<count).map { "f\($0)=1" }.joined(separator: "&")
            return try await tester.request(
                "form", method: "POST", headers: ["Content-Type": "application/x-www-form-urlencoded"],
                body: Array(body.utf8))
        }
        #expect(try await send(1000).status == 200)
        let refused = try await send(1001)
        #expect(refused.status == 400)
        #expect(refused.error?.message == "body: more than 1000 fields, the limit")
    }

    @Test(arguments: [
        ("name=50%+off", "50% off"), ("name=%C3%28", "\u{FFFD}("), ("name=\u{301}x", "\u{301}x"),
        ("&&name=a=b&", "a=b"), ("name", ""),
    ])
    func formsAreReadByTheirBytes(body: String, seen: String) async throws {
        let answer = try await tester.request(
            "form", method: "POST", headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Array(body.utf8))
        #expect(answer.text == seen + " ")
    }

    @Test(arguments: [
        ("a=1; b=2", ["a": "1", "b": "2"]), ("a=\"x y\"", ["a": "x y"]), ("a=x%20y;b=", ["a": "x y", "b": ""]),
        ("a=100%", ["a": "100%"]), ("a", [:]), ("=x; ; c==", ["c": "="]), ("", [:]),
    ])
    func cookiesAreDecoded(header: String, cookies: [String: String]) async throws {
        let seen: Seen = try await tester.request("seen", headers: ["Cookie": header]).json()
        #expect(seen.cookies == cookies)
    }

    @Test func bodiesAreText() async throws {
        #expect(try await tester.request("text", method: "POST", body: Array("grüße".utf8)).text == "GRÜSSE")
        let bad = try await tester.request("text", method: "POST", body: [0xFF])
        #expect(bad.status == 400)
        #expect(bad.error?.message == "body: expected text in UTF-8")
    }

    @Test func formsAreDecoded() async throws {
        func send(_ body: String, _ type: String?) async throws -> TestResponse {
            try await tester.request(
                "form", method: "POST", headers: type.map { ["Content-Type": $0] } ?? [:], body: Array(body.utf8))
        }
        let type = "application/x-www-form-urlencoded"
        #expect(try await send("name=Ada+L%C3%B6&tag=a&tag=b", type).text == "Ada Lö a+b")
        #expect(try await send("", type + "; charset=UTF-8").text == "- ")
        let other = try await send("{}", "application/json")
        #expect(other.status == 400)
        #expect(
            other.error?.message == "Content-Type: expected application/x-www-form-urlencoded, found application/json")
        #expect(
            try await send("", nil).error?.message
                == "Content-Type: expected application/x-www-form-urlencoded, found none")
    }

    @Test func usersMayBeRequired() async throws {
        #expect(try await tester.request("private", as: .user("ada")).text == "ada")
        #expect(try await tester.request("private").status == 401)
    }

    // MARK: Multipart

    private func upload(
        _ body: String, type: String = "multipart/form-data; boundary=\"x y\""
    ) async throws -> TestResponse {
        try await tester.request(
            "upload", method: "POST", headers: ["Content-Type": type],
            body: Array(body.replacing("\n", with: "\r\n").utf8))
    }

    @Test func multipartPartsAreRead() async throws {
        let answer = try await upload(
            """
            ignored
            --x y
            Content-Disposition: form-data; name="title"

            Hello

            world
            --x y \u{20}
            content-disposition: form-data; name="file"; filename="a \\"b\\";c.txt"
            Content-Type: text/plain

            --x
            --x y
            Content-Disposition: form-data; name=empty


            --x y--
            ignored, too
            """)
        #expect(
            answer.text == """
                title|||Hello\r\n\r\nworld|14
                file|a "b";c.txt|text/plain|--x|3
                empty||||0
                """)
    }

    @Test(arguments: [
        (#"filename="naive.txt"; filename*=UTF-8''na%C3%AFve%20%27a%27.txt"#, "naïve 'a'.txt"),
        ("filename*=utf-8'en'%E2%82%AC.txt; filename=euro.txt", "€.txt"), ("filename*=UTF-8''a.txt", "a.txt"),
        // What can't be decoded.
        ("filename=a.txt; filename*=UTF-8''%C3.txt", "a.txt"), ("filename=a.txt; filename*=ISO-8859-1''%A3", "a.txt"),
        ("filename=a.txt; filename*=%41", "a.txt"), ("filename*=UTF-8''%C3.txt", "UTF-8''%C3.txt"),
    ])
    func namesOfFilesAreDecoded(parameters: String, name: String) async throws {
        let answer = try await upload(
            "--x y\nContent-Disposition: form-data; name=f; \(parameters)\n\nv\n--x y--")
        #expect(answer.text == "f|\(name)||v|1")
    }

    @Test func anEmptyFormHasNoParts() async throws {
        #expect(try await upload("--x y--").text == "")
    }

    private static let field = "--x y\nContent-Disposition: form-data; name=a\n\nv\n"

    @Test(arguments: [
        ("", "its boundary doesn't occur"), ("--x z\n", "its boundary doesn't occur"),
        ("--x y\nContent-Disposition: form-data; name=a\n\nvalue", "its last part has no end"),
        ("--x y\nContent-Disposition: form-data; name=a\n", "a part's headers don't end within 16384 bytes"),
        ("--x y\nnonsense\n\n\n--x y--", "a part's header isn't a name and a value in UTF-8"),
        ("--x y\n\nv\n--x y--", "a part has no \"Content-Disposition: form-data\" with a name"),
        ("--x y\nContent-Disposition: form-data; name=\"a\n\nv\n--x y--", "a part has no \"Content-Disposition"),
        ("--x y!\n", "a boundary isn't followed by a line break"),
        (String(repeating: field, count: 4) + "--x y--", "more than 3 parts, the limit"),
        (
            "--x y\nContent-Disposition: form-data; name=a\n\n\(String(repeating: "v", count: 101))\n--x y--",
            "the part \"a\" has 101 bytes; the limit is 100"
        ),
    ])
    func malformedMultipartIsRefused(body: String, reason: String) async throws {
        let answer = try await upload(body)
        #expect(answer.status == 400)
        #expect(answer.error?.message.contains(reason) == true, "\(answer.text)")
    }

    @Test(arguments: [
        ("multipart/form-data", "Content-Type: multipart/form-data needs a boundary"),
        ("multipart/form-data; boundary=\"x", "Content-Type: expected multipart/form-data"),
        ("text/plain", "Content-Type: expected multipart/form-data, found text/plain"),
    ])
    func otherTypesArentMultipart(type: String, reason: String) async throws {
        let answer = try await upload("--x y--", type: type)
        #expect(answer.status == 400)
        #expect(answer.error?.message.contains(reason) == true, "\(answer.text)")
    }

    /// A search that starts over at every byte would take minutes.
    @Test func largeBodiesAreSearchedOnce() async throws {
        let almost = String(repeating: "\r\n--x ", count: 100_000)
        let answer = try await upload("--x y\nContent-Disposition: form-data; name=a\n\n" + almost)
        #expect(answer.error?.message.contains("its last part has no end") == true)
    }
}
