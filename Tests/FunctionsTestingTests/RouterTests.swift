import FunctionsRuntime
import FunctionsTesting
import Testing

@Suite struct RouterTests {
    private let tester: FunctionsTester

    init() throws { tester = try FunctionsTester(HTTPFixtures()) }

    private func send(
        _ method: String, _ target: String, as caller: TestCaller? = nil
    ) async throws -> TestResponse {
        try await tester.request("api", method: method, target: target, as: caller)
    }

    @Test(arguments: [
        ("GET", "/", "home"), ("GET", "", "home"), ("GET", "/items", "items"), ("GET", "/items/", "items"),
        ("GET", "/items?x=1", "items"), ("GET", "/items/7", "item 7"), ("POST", "/items/new", "new"),
        // A literal without the method doesn't hide a parameter with it.
        ("PUT", "/items/new", "new"), ("PUT", "/items/a%2Fb%20c", "a/b c"), ("PUT", "/%69tems/x", "x"),
        ("GET", "/sizes/large", "large"), ("GET", "/files", ""), ("GET", "/files/a/b/c.txt", "a/b/c.txt"),
        ("GET", "/files//a", "/a"), ("GET", "/a/b/c", "x=b"), ("GET", "/a/b/d", "literal"),
        ("GET", "/tenants/acme/name", "ACME"),
    ])
    func requestsReachTheirRoutes(method: String, target: String, text: String) async throws {
        let answer = try await send(method, target)
        #expect(answer.error == nil)
        #expect(answer.text == text)
        #expect(answer.headers["X-Trace"] == "root")
    }

    @Test func parametersHaveTypes() async throws {
        let bad = try await send("GET", "/items/x")
        #expect(bad.status == 400)
        #expect(bad.error?.message == "id: expected Int, found \"x\"")
        #expect(try await send("GET", "/sizes/huge").error?.message == "size: expected Size, found \"huge\"")
        #expect(try await send("GET", "/typo/1").status == 500)
        #expect(try await send("GET", "/items/%FF").error?.message == "path: \"%FF\" isn't percent-encoded UTF-8")
    }

    @Test(arguments: ["/item", "/items/1/2", "/items//", "/Items", "/a/b", "//", "/tenants/acme"])
    func otherPathsAreNotFound(path: String) async throws {
        let answer = try await send("GET", path)
        #expect(answer.status == 404)
        #expect(answer.error?.message == "There is no route for \(path).")
    }

    @Test func otherMethodsAreNamed() async throws {
        let answer = try await send("DELETE", "/items/7")
        #expect(answer.status == 405)
        #expect(answer.headers["Allow"] == "GET, HEAD, OPTIONS, PUT")
        #expect(answer.headers["X-Trace"] == "root")
        #expect(
            answer.text
                == #"{"error":{"message":"DELETE isn't allowed for \/items\/7, only GET, HEAD, OPTIONS, PUT.","#
                + #""status":"METHOD_NOT_ALLOWED"}}"#
                || answer.text.contains("DELETE isn't allowed for /items/7, only GET, HEAD, OPTIONS, PUT."))
        #expect(try await send("PATCH", "/items/new").headers["Allow"] == "GET, HEAD, OPTIONS, POST, PUT")
        let options = try await send("OPTIONS", "/items/new")
        #expect(options.status == 204)
        #expect(options.headers["Allow"] == "GET, HEAD, OPTIONS, POST, PUT")
        #expect(try await send("HEAD", "/items/7").status == 200)
        #expect(try await send("HEAD", "/items/new").status == 400)
        #expect(try await send("GET", "/items/new").status == 400)
    }

    @Test func middlewareRunsFromTheOutside() async throws {
        #expect(try await send("DELETE", "/tenants/acme/admin").status == 403)
        let answer = try await send("DELETE", "/tenants/acme/admin", as: .user("ada"))
        #expect(answer.text == "deleted ACME")
        #expect(answer.headers.values(for: "X-Trace") == ["admin", "root"])
        // Of a group, it only runs for the group's routes.
        #expect(try await send("GET", "/tenants/acme/admin").status == 405)
    }

    @Test(arguments: [
        ("items/{id", "\"{id\" isn't a parameter; write {name} for a whole segment, or {name=**} at the end"),
        ("items/{}", "\"{}\" isn't a parameter"), ("items/x{id}", "\"x{id}\" isn't a parameter"),
        ("{path=**}/x", "{path=**} must be its last segment"), ("{a}/{a}", "two of its parameters are called a"),
        ("items/:id", "\":id\" is neither text nor a parameter"), ("items?x", "\"items?x\" is neither text"),
        ("items/*", "\"*\" is neither text nor a parameter"),
    ])
    func malformedPatternsAreReported(pattern: String, reason: String) throws {
        let error = #expect(throws: TestError.self) {
            try FunctionsTester(OddRoutes { $0.get(pattern) { _ in .text("") } })
        }
        #expect(error?.description.contains("function \"api\": the route GET \"\(pattern)\": \(reason)") == true)
    }

    @Test func ambiguousRoutesAreReported() throws {
        let error = #expect(throws: TestError.self) {
            try FunctionsTester(
                OddRoutes { routes in
                    routes.get("items/{id}") { _ in .text("") }
                    routes.post("items/{id}") { _ in .text("") }
                    routes.group("items") { $0.get("{name}") { _ in .text("") } }
                    routes.get("x/{a=**}") { _ in .text("") }
                    routes.get("x/{b=**}") { _ in .text("") }
                    routes.on("get", "y") { _ in .text("") }
                })
        }
        #expect(
            error?.description == """
                function "api": the route GET "items/{name}" matches the same requests as "items/{id}"; remove one; \
                function "api": the route GET "x/{b=**}" matches the same requests as "x/{a=**}"; remove one; \
                function "api": the route get "y": a method has capital letters, such as GET
                """)
        #expect(throws: TestError.self) { try FunctionsTester(OddRoutes { _ in }) }
    }
}
