import FunctionsRuntime
import FunctionsTesting
import Testing

@Suite struct RequestTests {
    private let tester: FunctionsTester

    init() throws { tester = try FunctionsTester(CallableFixtures()) }

    private typealias Item = CallableFixtures.Item

    @Test func requestIsWhatTheTestSays() async throws {
        #expect(try await tester.request("echo").text == "GET /  ")
        let answer = try await tester.request("echo", method: "PATCH", target: "/a%20b?q=1", as: .user("ada"))
        #expect(answer.text == "PATCH /a b 1 ada")
        #expect(answer.status == 200)
        #expect(answer.headers["content-type"] == "text/plain; charset=utf-8")
        #expect(try await tester.request("echo", target: "?q=2").text == "GET / 2 ")
        let put = try await tester.request("echo", method: "PUT", json: Item(count: 1))
        #expect(put.status == 201)
        #expect(try put.json(as: Item.self) == Item(count: 1))
        await #expect(throws: TestError.self) { _ = try await tester.request("double") }
    }

    @Test func integersOfABodyAreNumbers() async throws {
        let tester = try FunctionsTester(HTTPFixtures())
        #expect(try await tester.request("text", json: Int64(1) << 60).text == "1152921504606846976")
    }

    @Test func requestMayComeFromAnApp() async throws {
        let tester = try FunctionsTester(HTTPFixtures())
        #expect(try await tester.request("app").status == 401)
        let app = TestApp.app("1:2:ios:3", claims: ["level": 4])
        #expect(try await tester.request("app", app: app).text == "1:2:ios:3 4 false")
        #expect(try await tester.request("app", json: Item(count: 1), app: app).status == 200)
    }

    @Test func errorsAreAnsweredAsJSON() async throws {
        let own = try await tester.request("echo", target: "/refuse")
        #expect(own.status == 404)
        #expect(own.error?.code == .notFound)
        #expect(
            own.text == #"{"error":{"details":{"path":"refuse"},"message":"Nothing here.","status":"NOT_FOUND"}}"#)
        for path in ["/break", "/odd"] {
            let other = try await tester.request("echo", target: path)
            #expect(other.status == 500)
            #expect(other.text == #"{"error":{"message":"INTERNAL","status":"INTERNAL"}}"#)
        }
        let bad = try await tester.request("echo", method: "PUT", body: Array("{".utf8))
        #expect(bad.status == 400)
        let large = try await tester.request("echo", method: "PUT", body: Array(repeating: 0, count: 10_485_761))
        #expect(large.status == 413)
    }

    @Test func streamedBodyThatFailsBreaksOff() async throws {
        let whole = try await tester.request("echo", target: "/stream")
        #expect(whole.text == "first, second")
        #expect(whole.isComplete)
        let broken = try await tester.request("echo", target: "/stream?break=1")
        #expect(broken.status == 200)
        #expect(broken.text == "first, ")
        #expect(!broken.isComplete)
    }

    @Test func onlyWhatCanBeSentIsSent() async throws {
        let answer = try await tester.request("echo", target: "/header")
        #expect(answer.headers["X-Fine"] == "1")
        #expect(answer.headers["X-Forged"] == nil)
        #expect(answer.headers["Connection"] == nil)
        #expect(try await tester.request("echo", method: "HEAD").body.isEmpty)
    }

    @Test func originsAreAnsweredAsTheOptionSays() async throws {
        let own = try await tester.request("echo", headers: ["Origin": "https://shop.example"])
        #expect(own.headers["Access-Control-Allow-Origin"] == "https://shop.example")
        #expect(own.headers["Vary"] == "Origin")
        let other = try await tester.request("echo", headers: ["Origin": "https://evil.example"])
        #expect(other.headers["Access-Control-Allow-Origin"] == nil)
        let subdomain = try await tester.request("echo", headers: ["Origin": "https://eu.shop.example"])
        #expect(subdomain.headers["Access-Control-Allow-Origin"] == "https://eu.shop.example")
        let functions = try await tester.request("echo", target: "/own", headers: ["Origin": "https://shop.example"])
        #expect(functions.headers["Access-Control-Allow-Origin"] == "*")
        #expect(functions.headers.values(for: "Vary") == ["Accept", "Origin"])
        let preflight = try await tester.request(
            "echo", method: "OPTIONS",
            headers: ["Origin": "https://shop.example", "Access-Control-Request-Headers": "x-a"])
        #expect(preflight.status == 204)
        #expect(preflight.headers["Access-Control-Allow-Headers"] == "x-a")
        #expect(preflight.headers.values(for: "Vary") == ["Origin, Access-Control-Request-Headers"])
        #expect(preflight.headers["Access-Control-Allow-Origin"] == "https://shop.example")
    }
}
