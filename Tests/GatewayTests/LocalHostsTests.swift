import FunctionManifest
@testable import Gateway
import NIOHTTP1
import Testing
import WorkerTesting
import Workers

/// Which names a host in development answers to, and what pages of other sites may do.
@Suite struct LocalHostsTests {
    private static let hosts = LocalHosts(
        ["shop.test", "*.shop.test"].compactMap { HostPattern($0) }, setting: "listen.hosts")

    @Test(arguments: [
        "localhost", "localhost:5001", "LocalHost:5001", "a.localhost", "127.0.0.1", "127.0.0.1:80", "10.0.2.2:8080",
        "[::1]", "[::1]:5001", "[fe80::1]:1", "host.docker.internal:8080", "shop.test", "a.b.shop.test:1", "localhost.",
    ])
    func thisMachineIsMeant(authority: String) { #expect(Self.hosts.contains(authority)) }

    @Test(arguments: [
        "", ":80", "evil.test", "localhost.evil.test", "evil-localhost", "notshop.test", "shop.test.evil",
        "127.0.0.1.nip.io",
        "[::1", "[evil]", "::1", "localhost:x", "localhost:80:80", "user@localhost", "1.2.3", "[127.0.0.1.nip.io]",
        "localhost ", "localhost/", "0x7f.1",
    ])
    func anotherSiteIsMeant(authority: String) { #expect(!Self.hosts.contains(authority)) }

    @Test(arguments: [
        "http://localhost:3000", "https://127.0.0.1", "http://[::1]:1", "https://app.shop.test",
        "capacitor://localhost", "http://0.0.0.0:8000", "http://[::]:8000",
    ])
    func aPageOfThisMachineIsNotForeign(origin: String) { #expect(!Self.hosts.isForeign(origin: origin)) }

    @Test(arguments: [
        "null", "", "https://evil.test", "http://localhost.evil.test", "localhost", "file://", "http://a@localhost",
        "http://203.0.113.5", "https://[2001:db8::1]:1", "http://0.0.0.1", "http://[::2]",
    ])
    func aPageOfAnotherSiteIsForeign(origin: String) { #expect(Self.hosts.isForeign(origin: origin)) }

    /// In many networks the machines have public addresses, above all those of IPv6.
    @Test(arguments: [
        ("203.0.113.5", "http://203.0.113.5:3000"), ("2001:db8::1", "http://[2001:DB8::1]"),
        ("[2001:db8::1]", "http://[2001:db8:0::1]:3000"),
    ])
    func aPageOfAListedAddressIsNotForeign(listed: String, origin: String) throws {
        let hosts = LocalHosts([try #require(HostPattern(listed))], setting: "listen.hosts")
        #expect(!hosts.isForeign(origin: origin))
        #expect(hosts.isForeign(origin: "http://203.0.113.6"))
        #expect(hosts.isForeign(origin: "http://[2001:db8::2]"))
    }

    @Test(arguments: ["", "*", "*.", "a..b", "a b", "shop.test:80", "*.*.test", "a/b", "shöp.test", ".test"])
    func whatIsNotAHostNameIsRefused(text: String) { #expect(HostPattern(text) == nil) }

    @Test func anotherNameIsMisdirected() throws {
        try GatewayRing.with([.callable("f")], hosts: Self.hosts) { ring throws in
            ring.processes.handler = { $0.end("1") }
            let refused = try #require(try ring.call("f", "1", ["Host": "evil.test"]).answer)
            #expect(refused.status == 421)
            #expect(refused.body.contains("listen.hosts"))
            #expect(refused.body.contains("evil.test"))
            #expect(try ring.call("f", "1", ["Host": "app.shop.test:5001"]).answer?.status == 200)
            // Pages of any site may call functions as their users.
            #expect(try ring.call("f", "1", ["Origin": "https://evil.test"]).answer?.status == 200)
            let document = try #require(try ring.send("GET", "/__/functions.yaml").answer)
            #expect(document.status == 200)
        }
    }

    @Test func inProductionEveryNameIsAnsweredAndFunctionsAreNotListed() throws {
        try GatewayRing.with([.callable("f")]) { ring throws in
            ring.processes.handler = { $0.end("1") }
            #expect(try ring.call("f", "1", ["Host": "shop.example"]).answer?.status == 200)
            #expect(try ring.send("GET", "/__/functions.yaml").answer?.status == 404)
        }
    }

    private func refusal(
        _ method: HTTPMethod, _ uri: String, _ headers: HTTPHeaders, takesAccessTokens: Bool = true
    ) -> Int? {
        var all: HTTPHeaders = ["Host": "localhost"]
        all.add(contentsOf: headers)
        let head = HTTPRequestHead(version: .http1_1, method: method, uri: uri, headers: all)
        let rules = PortRules(hosts: Self.hosts, memory: PortMemory(), takesAccessTokens: takesAccessTokens)
        return rules.refusal(of: head).map { Int($0.status.code) }
    }

    @Test func pagesOfOtherSitesAreNeitherOwnersNorUseTheHelpers() {
        let foreign = "https://evil.test"
        #expect(refusal(.GET, "/v1/x", ["Origin": foreign]) == nil)
        #expect(refusal(.GET, "/v1/x", ["Origin": foreign, "Authorization": "Bearer e30.e30."]) == nil)
        for value in ["Bearer owner", "bearer  owner", "BEARER\towner", "Bearer OWNER", "Bearer Owner"] {
            #expect(refusal(.GET, "/v1/x", ["Origin": foreign, "Authorization": value]) == 403)
            #expect(refusal(.GET, "/v1/x", ["Origin": "http://localhost:3000", "Authorization": value]) == nil)
            #expect(refusal(.GET, "/v1/x", ["Authorization": value]) == nil)
        }
        #expect(refusal(.DELETE, "/emulator/v1/projects/p/accounts", ["Origin": foreign]) == 403)
        #expect(refusal(.DELETE, "/emulator/v1/projects/p/accounts", ["Origin": "null"]) == 403)
        #expect(refusal(.DELETE, "//emulator/v1/projects/p/accounts", ["Origin": foreign]) == 403)
        let question: HTTPHeaders = ["Origin": foreign, "Access-Control-Request-Method": "DELETE"]
        #expect(refusal(.OPTIONS, "/emulator/v1/projects/p/accounts", question) == nil)
        #expect(refusal(.DELETE, "/emulator/v1/projects/p/accounts", question) == 403)
        #expect(refusal(.DELETE, "///emulator", ["Origin": foreign]) == 403)
        #expect(refusal(.DELETE, "/emulator/v1/projects/p/accounts", [:]) == nil)
        #expect(
            refusal(.DELETE, "/emulator/v1/x", ["Origin": "http://localhost", "origin": foreign]) == 403)
    }

    /// An access token of Google's is the owner's. An HTTP function may be sent one by any page.
    @Test func pagesOfOtherSitesAreNotOwnersByAnAccessToken() {
        let headers: HTTPHeaders = ["Origin": "https://evil.test", "Authorization": "bearer ya29.c.opaque"]
        #expect(refusal(.POST, "/identitytoolkit.googleapis.com/v1/x", headers) == 403)
        for token in ["ya29.c opaque", "ya29.\topaque"] {
            let words: HTTPHeaders = ["Origin": "https://evil.test", "Authorization": "Bearer \(token)"]
            #expect(refusal(.POST, "/identitytoolkit.googleapis.com/v1/x", words) == 403)
        }
        #expect(refusal(.POST, "/demo-shop/us-central1/f", headers, takesAccessTokens: false) == nil)
        #expect(refusal(.POST, "/v1/x", ["Authorization": "Bearer ya29.c.opaque"]) == nil)
    }
}
