import WorkerProtocol
@testable import HostProcess
@testable import Workers
@testable import Gateway
@testable import FunctionsServing
import NIOHTTP1
import Testing

@Suite struct ServingEnvironmentTests {
    private let emulator = ["FIREBASE_AUTH_EMULATOR_HOST": "localhost:9099"]

    private func problems(_ variables: [String: String]) -> [String] {
        do throws(HostError) {
            _ = try ServingEnvironment(variables)
            return []
        } catch {
            return "\(error)".split(separator: "\n").map(String.init)
        }
    }

    @Test func whereAnybodysTokensCountOnlyThisMachineMayAsk() throws {
        #expect(try ServingEnvironment([:]).host == "0.0.0.0")
        #expect(try ServingEnvironment(emulator).host == "127.0.0.1")
        #expect(try ServingEnvironment(emulator.merging(["HOST": ""]) { $1 }).host == "127.0.0.1")
        #expect(try ServingEnvironment(emulator.merging(["HOST": "0.0.0.0"]) { $1 }).host == "0.0.0.0")
        #expect(try ServingEnvironment(["HOST": "::1"]).host == "::1")
    }

    @Test func proxiesAreThoseThatAreNamed() throws {
        let peer = try #require(IPAddress("10.0.0.1"))
        let way = HTTPHeaders([("X-Forwarded-For", "203.0.113.9, 192.0.2.1")])
        func client(_ variables: [String: String]) throws -> IPAddress {
            try ServingEnvironment(variables).proxies.client(peer, way)
        }
        #expect(try client([:]) == peer)
        #expect(try client(["TRUSTED_PROXIES": "10.0.0.0/8"]) == IPAddress("192.0.2.1"))
        #expect(try client(["TRUSTED_PROXIES": "10.0.0.1, 192.0.2.1"]) == IPAddress("203.0.113.9"))
        #expect(try client(["K_SERVICE": "shop"]) == IPAddress("192.0.2.1"))
        #expect(try client(["K_SERVICE": "shop", "TRUSTED_PROXIES": "192.0.2.0/24"]) == IPAddress("203.0.113.9"))
    }

    @Test(arguments: [
        ("HOST", "localhost", "127.0.0.1"), ("TRUSTED_PROXIES", "10.0.0.0/8,balancer", "\"balancer\""),
        ("TRUSTED_PROXIES", "10.0.0.0/33", "10.0.0.0/8"),
        ("FUNCTIONS_LOG_LEVEL", "verbose", "debug"),
        ("FIREBASE_AUTH_EMULATOR_HOST", "127.0.0.1", "127.0.0.1:9099"),
        ("FIREBASE_AUTH_EMULATOR_HOST", "http://localhost:9099", "127.0.0.1:9099"),
    ])
    func whatIsWrongIsNamedWithWhatWouldBeRight(name: String, value: String, word: String) {
        let problems = problems([name: value])
        #expect(problems.count == 1)
        #expect(problems.allSatisfy { $0.hasPrefix(name) && $0.contains(word) }, "\(problems)")
    }

    @Test func aProjectForDevelopmentIsNoneForAPlatform() throws {
        let development = ["GOOGLE_CLOUD_PROJECT": "demo-shop"]
        let problems = problems(development.merging(["K_SERVICE": "shop"]) { $1 })
        #expect(problems.count == 1)
        #expect(problems.first?.contains("demo-shop") == true)
        #expect(self.problems(["GOOGLE_CLOUD_PROJECT": "shop-1234", "K_SERVICE": "shop"]).isEmpty)
        #expect(try ServingEnvironment(development).tokenWarning(of: "demo-shop") != nil)
        #expect(try ServingEnvironment(development.merging(emulator) { $1 }).tokenWarning(of: "demo-shop") == nil)
        #expect(try ServingEnvironment([:]).tokenWarning(of: "shop-1234") == nil)
    }

    @Test func whatIsAboutServingIsNotForWorkers() throws {
        let given = ["HOST": "127.0.0.1", "PORT": "0", "TRUSTED_PROXIES": "10.0.0.1", "OTHER": "seen", "KEY": "k"]
        let seen = try ServingEnvironment(given).workerEnvironment(
            of: "hello", project: "demo-shop", release: "r", without: ["KEY"])
        #expect(Set(given.keys).intersection(seen.keys) == ["OTHER"])
    }
}
