import Workers
import TestSupport
@testable import HostConfiguration
import Foundation
import Testing

struct HostConfigurationTests {
    private func errors(of text: String, environment: String? = nil) -> String {
        do throws(ConfigurationError) {
            _ = try ConfigurationReader.read(Array(text.utf8), file: "functions.json", environment: environment)
            return ""
        } catch {
            return error.description
        }
    }

    @Test(arguments: [
        ("[]", "functions.json:1:1: the file must contain an object, { … }; this is an array"),
        ("{", "functions.json:1:2: a key in quotes should be here"),
        ("\u{feff}{", "functions.json:1:2: a key in quotes should be here"),
        (
            "{}",
            "functions.json:1:1: \"project\" is missing; write the ID of your Firebase project, or demo-… if "
                + "you have none"
        ),
        (
            "{\"project\": \"Shop\"}",
            "functions.json:1:13: project: \"Shop\" is not a project ID; write 6 to 30 lower-case letters, digits and "
                + "hyphens that begin with a letter, such as demo-shop"
        ),
        ("{\"project\": 7}", "functions.json:1:13: project: 7 is not a string; write it in quotes"),
        (
            "{\"project\": \"demo-shop\",\n \"mode\": \"prod\"}",
            "functions.json:2:10: mode: \"prod\" is not allowed here; write \"development\" or \"production\""
        ),
        (
            "{\"project\": \"demo-shop\", \"mode\": \"production\"}",
            "functions.json:1:13: project: \"demo-shop\" is a demo project, which doesn't exist in Firebase; "
                + "production needs the ID of your Firebase project"
        ),
        (
            "{\"project\": \"demo-shop\",\n \"projct\": 1}",
            "functions.json:2:2: projct: unknown key; did you mean \"project\"?"
        ),
        (
            "{\"project\": \"demo-shop\", \"store\": {\"flavour\": 1}}",
            "functions.json:1:36: store.flavour: unknown key; the known keys are \"engine\", "
                + "\"historySeconds\", \"historyMiB\""
        ),
        (
            "{\"project\": \"demo-shop\", \"listen\": {\"functions\": 70000}}",
            "functions.json:1:50: listen.functions: 70000 is not a port; write 0 … 65535"
        ),
        (
            "{\"project\": \"demo-shop\", \"listen\": {\"functions\": 5001.5}}",
            "functions.json:1:50: listen.functions: 5001.5 is not a port; write 0 … 65535"
        ),
        (
            "{\"project\": \"demo-shop\", \"listen\": {\"functions\": 8080}}",
            "functions.json:1:50: listen.functions: 8080 is also the port of \"firestore\"; choose different "
                + "ports, or 0 for any free port"
        ),
        (
            "{\"project\": \"demo-shop\", \"listen\": {\"host\": \"my host\"}}",
            "functions.json:1:45: listen.host: \"my host\" is not an address; write 127.0.0.1 for this machine "
                + "only or 0.0.0.0 for all"
        ),
        (
            "{\"project\": \"demo-shop\", \"limits\": {\"queue\": 0}}",
            "functions.json:1:46: limits.queue: 0 is not a number of invocations; write 1 … 1000000"
        ),
        (
            "{\"project\": \"demo-shop\", \"listen\": {\"hosts\": [\"shop.test:80\"]}}",
            "functions.json:1:47: listen.hosts[0]: \"shop.test:80\" is not a host name; write one such as shop.test, "
                + "or *.shop.test for all below it"
        ),
        (
            "{\"project\": \"demo-shop\", \"listen\": {\"trustedProxies\": [\"proxy\"]}}",
            "functions.json:1:56: listen.trustedProxies[0]: \"proxy\" is not an IP address; write one such as "
                + "10.0.0.7, or a range such as 10.0.0.0/8"
        ),
        (
            "{\"project\": \"demo-shop\", \"functions\": {\"f\": {\"callerLimits\": [{\"per\": \"ip\", \"count\": 0}]}}}",
            "functions.json:1:63: functions.f.callerLimits[0]: \"seconds\" is missing; write the time in seconds\n"
                + "functions.json:1:71: functions.f.callerLimits[0].per: \"ip\" is not allowed here; write \"user\" or "
                + "\"address\"\nfunctions.json:1:86: functions.f.callerLimits[0].count: 0 is not a number of calls; "
                + "write 1 … 1000000"
        ),
        (
            "{\"project\": \"demo-shop\", \"params\": {\"greeting\": 1, \"A\": null}}",
            "functions.json:1:37: params.greeting: \"greeting\" is not a param name; use capital letters, "
                + "digits and _, and don't begin with a digit\nfunctions.json:1:57: params.A: null is not a "
                + "param value; write a string, a number, true, false or a list of strings"
        ),
        (
            "{\"project\": \"demo-shop\", \"rules\": \"none.rules\"}",
            "functions.json:1:35: rules: the file none.rules does not exist or can't be read; create it, or "
                + "remove the key"
        ),
        (
            "{\"project\": \"demo-shop\", \"bundles\": [{\"name\": \"a\"}]}",
            "functions.json:1:38: bundles[0]: write \"product\" with the name of a Swift package's product, or "
                + "\"executable\" with the path of a file"
        ),
        (
            "{\"project\": \"demo-shop\", \"bundles\": [{\"name\": \"a\", \"product\": \"A\"}, "
                + "{\"name\": \"a\", \"product\": \"B\"}]}",
            "functions.json:1:78: bundles[1].name: another bundle has the name \"a\"; names must be unique"
        ),
        (
            "{\"project\": \"demo-shop\", \"functions\": {\"purchase\": {\"memory\": \"1Gb\"}}}",
            "functions.json:1:63: functions.purchase.memory: \"1Gb\" is not a memory size; write 128MiB, "
                + "256MiB, 512MiB, "
                + "1GiB, 2GiB, 4GiB, 8GiB, 16GiB or 32GiB"
        ),
        (
            "{\"project\": \"demo-shop\", \"functions\": {\"f\": {\"minInstances\": 3, \"maxInstances\": 2}}}",
            "functions.json:1:62: functions.f.minInstances: 3 is more than maxInstances, 2"
        ),
        (
            "{\"project\": \"demo-shop\", \"functions\": {\"f\": {\"budget\": {\"warnAt\": 0.5}}}}",
            "functions.json:1:56: functions.f.budget: a budget needs \"invocationsPerDay\" or "
                + "\"computeSecondsPerDay\"; write at least one of them"
        ),
        (
            "{\"project\": \"demo-shop\", \"functions\": {\"f\": {\"budget\": {\"invocationsPerDay\": 0}}}}",
            "functions.json:1:78: functions.f.budget.invocationsPerDay: 0 is not a number of invocations; write 1 … "
                + "1000000000000"
        ),
        (
            "{\"project\": \"demo-shop\", \"functions\": {\"f\": {\"budget\": {\"invocationsPerDay\": 1, "
                + "\"warnAt\": 80}}}}",
            "functions.json:1:91: functions.f.budget.warnAt: 80 is not a fraction; write a number above 0 and "
                + "up to 1, such as "
                + "0.8"
        ),
        (
            "{\"project\": \"demo-shop\", \"functions\": {\"f\": {\"budget\": {\"computeSeconds\": 1}}}}",
            "functions.json:1:56: functions.f.budget: a budget needs \"invocationsPerDay\" or "
                + "\"computeSecondsPerDay\"; write at least one of them\n"
                + "functions.json:1:57: functions.f.budget.computeSeconds: unknown key; the known keys are "
                + "\"invocationsPerDay\", \"computeSecondsPerDay\", \"warnAt\""
        ),
        (
            "{\"project\": \"demo-shop\", \"alerts\": {\"webhook\": \"ftp://example.com/x\"}}",
            "functions.json:1:48: alerts.webhook: \"ftp://example.com/x\" is not an http or https URL; write "
                + "one such as "
                + "https://example.com/hooks/functions"
        ),
        (
            "{\"project\": \"demo-shop\", \"listen\": {\"events\": 9099}}",
            "functions.json:1:47: listen.events: 9099 is also the port of \"auth\"; choose different ports, or "
                + "0 for any free port"
        ),
        (
            "{\"project\": \"demo-shop\", \"functions\": {\"1f\": {}}}",
            "functions.json:1:40: functions.1f: \"1f\" is not a function name; use letters, digits, _ and -, "
                + "begin with a letter, and use at most 63 characters"
        ),
        (
            "{\"project\": \"demo-shop\", \"limits\": {\"requestBody\": \"11MiB\"}}",
            "functions.json:1:52: limits.requestBody: \"11MiB\" is not the size of a body; write 1KiB … 10MiB"
        ),
        (
            "{\"project\": \"demo-shop\", \"limits\": {\"responseBody\": \"33MiB\"}}",
            "functions.json:1:53: limits.responseBody: \"33MiB\" is not the size of a body; write 1KiB … 32MiB"
        ),
        (
            "{\"project\": \"demo-shop\", \"limits\": {\"workerOperations\": \"16MiB\"}}",
            "functions.json:1:57: limits.workerOperations: \"16MiB\" is not an amount of memory; write 32MiB … 1024MiB"
        ),
        (
            "{\"project\": \"demo-shop\", \"limits\": {\"workerOperations\": \"65MiB\"}}",
            "functions.json:1:57: limits.workerOperations: all workers together have 128MiB, less than twice what one "
                + "worker has, 65MiB"
        ),
        (
            "{\"project\": \"demo-shop\", \"limits\": {\"cgroups\": \"on\"}}",
            "functions.json:1:48: limits.cgroups: \"on\" is not allowed here; write \"auto\" or \"off\""
        ),
        (
            "{\"project\": \"demo-shop\",\n \"mode\": \"development\",\n \"mode\": \"production\"}",
            "functions.json:3:2: the key \"mode\" is also on line 2; keep one"
        ),
        (
            "{\"project\": \"demo-shop\", \"environments\": {\"s\": {\"mod\": 1}}}",
            "functions.json:1:49: environments.s.mod: unknown key; did you mean \"mode\"?"
        ),
        (
            "{\"project\": \"demo-shop\", \"environments\": {\"s\": {\"environments\": {}}}}",
            "functions.json:1:49: environments.s.environments: an environment can't have \"environments\""
        ),
    ])
    func problemsNameLocationKeyAndRemedy(text: String, expected: String) {
        #expect(errors(of: text) == expected)
    }

    @Test func allProblemsAreReportedInTheOrderOfLines() {
        let text = """
            {
              "limits": { "queue": -1 },
              "project": "demo-shop",
              "listen": { "auth": "9099", "hots": "127.0.0.1" }
            }
            """
        #expect(
            errors(of: text) == """
                functions.json:2:24: limits.queue: -1 is not a number of invocations; write 1 … 1000000
                functions.json:4:23: listen.auth: "9099" is not a port; write 0 … 65535
                functions.json:4:31: listen.hots: unknown key; did you mean "host"?
                """)
    }

    @Test func omittedKeysHaveTheirDefaults() throws {
        let text = "{\"project\": \"demo-shop\"}"
        let read = try ConfigurationReader.read(Array(text.utf8), file: "/srv/app/functions.json", environment: nil)
        #expect(read.mode == .development)
        #expect(read.data == "/srv/app/.functions")
        #expect(read.listen == HostConfiguration.Listen())
        #expect(read.limits == HostLimits())
        #expect(read.bundles.isEmpty && read.functions.isEmpty && read.rules == nil)
    }

    @Test func allKeysAreRead() throws {
        let directory = try TemporaryDirectory()
        try directory.write("my.rules", "")
        try directory.write("my.indexes.json", "{}")
        let text = """
            {
              "project": "my-shop-1", "mode": "production", "data": "/var/lib/shop",
              "listen": { "host": "0.0.0.0", "functions": 0, "firestore": 0, "database": 0, "auth": 0, "events": 0 },
              "rules": "./my.rules", "indexes": "my.indexes.json",
              "bundles": [ { "name": "shop", "product": "Shop" }, { "name": "sh", "executable": "/bin/sh" } ],
              "functions": { "purchase": { "region": "asia-northeast1", "memory": "1GiB", "timeout": 240,
                "minInstances": 1, "maxInstances": 10, "concurrency": 80, "cpu": 2,
                "budget": { "invocationsPerDay": 1000, "computeSecondsPerDay": 60, "warnAt": 1 } } },
              "alerts": { "webhook": "https://example.com/hook" },
              "limits": { "requestBody": "512KiB", "queue": 5, "connections": 6, "shutdownGrace": 0, "eventDepth": 3,
                "responseBody": "32MiB", "openFiles": 64, "processes": 1, "cgroups": "off",
                "workerOperations": "64MiB", "allOperations": "1024MiB" }
            }
            """
        let read = try HostConfiguration.load(try directory.write("functions.json", text))
        #expect(read.project == "my-shop-1" && read.mode == .production && read.data == "/var/lib/shop")
        #expect(read.listen.host == "0.0.0.0" && read.listen.functions == 0)
        #expect(read.rules == directory.file("my.rules"))
        #expect(read.indexes == directory.file("my.indexes.json"))
        #expect(
            read.bundles == [
                .init(name: "shop", source: .product("Shop", package: directory.path)),
                .init(name: "sh", source: .executable("/bin/sh")),
            ])
        let purchase = try #require(read.functions["purchase"])
        #expect(purchase.region == "asia-northeast1" && purchase.memory?.mebibytes == 1024 && purchase.timeout == 240)
        #expect(purchase.minInstances == 1 && purchase.maxInstances == 10)
        #expect(purchase.concurrency == 80 && purchase.cpu == 2)
        #expect(purchase.budget?.invocationsPerDay == 1000 && purchase.budget?.computeSecondsPerDay == 60)
        #expect(purchase.budget?.warnAt == 1 && read.alerts.webhook == "https://example.com/hook")
        #expect(read.listen.events == 0)
        #expect(read.limits.requestBody == 512 * 1024 && read.limits.queue == 5 && read.limits.eventDepth == 3)
        #expect(read.limits.connections == 6 && read.limits.shutdownGrace == 0)
        #expect(read.limits.responseBody == 32 << 20 && read.limits.openFiles == 64)
        #expect(read.limits.processes == 1 && read.limits.cgroups == .off)
        #expect(read.limits.workerBytes == 64 << 20 && read.limits.allWorkersBytes == 1 << 30)
    }

    private static let layered = """
        {
          "project": "demo-shop",
          "listen": { "functions": 5001, "auth": 9099 },
          "bundles": [ { "name": "a", "product": "A" } ],
          "functions": { "f": { "timeout": 10, "cpu": 1 } },
          "environments": {
            "staging": {
              "project": "shop-staging", "mode": "production",
              "listen": { "auth": 9100 },
              "bundles": [ { "name": "b", "product": "B" } ],
              "functions": { "f": { "timeout": 20 } }
            },
            "qa": {}
          }
        }
        """

    @Test func anEnvironmentOverridesOnlyItsKeys() throws {
        let bytes = Array(Self.layered.utf8)
        let plain = try ConfigurationReader.read(bytes, file: "functions.json", environment: nil)
        #expect(plain.project == "demo-shop" && plain.listen.auth == 9099 && plain.functions["f"]?.timeout == 10)
        let staging = try ConfigurationReader.read(bytes, file: "functions.json", environment: "staging")
        #expect(staging.project == "shop-staging" && staging.mode == .production)
        #expect(staging.listen.functions == 5001 && staging.listen.auth == 9100)
        #expect(staging.bundles.map(\.name) == ["b"])
        #expect(staging.functions["f"]?.timeout == 20 && staging.functions["f"]?.cpu == 1)
        #expect(staging.places["functions.f.timeout"] == .init(line: 11, column: 29))
        #expect(plain.places["functions.f.timeout"] == .init(line: 5, column: 25))
    }

    @Test func anUnknownEnvironmentIsReportedWithTheKnownOnes() {
        #expect(
            errors(of: Self.layered, environment: "stagin")
                == "functions.json:6:3: environments: there is no environment \"stagin\"; "
                + "the file has \"staging\", \"qa\"")
    }

    @Test func problemsFoundAfterReadingHaveTheirLocation() throws {
        let read = try ConfigurationReader.read(Array(Self.layered.utf8), file: "functions.json", environment: nil)
        #expect(
            read.problem(at: "functions.f", "no bundle has a function \"f\"").description
                == "functions.json:5:18: functions.f: no bundle has a function \"f\"")
        #expect(
            read.problem(at: "functions.f.memory", "too small").description
                == "functions.json:5:18: functions.f.memory: too small")
    }

    @Test func aMissingFileIsReportedInASentence() throws {
        let path = try TemporaryDirectory().file("functions.json")
        #expect(throws: ConfigurationError.self) { try HostConfiguration.load(path) }
        do throws(ConfigurationError) { _ = try HostConfiguration.load(path) } catch {
            #expect(
                error.description == "\(path): the file does not exist; create it, or name another one with "
                    + "--config")
        }
    }

    /// Commands such as `pause` and `data backup` use none of these files.
    @Test func filesThatAreNamedMayBeMissingForWhatDoesNotUseThem() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(
            "functions.json",
            """
            { "project": "demo-shop", "rules": "none.rules", "indexes": "none.json", "databaseRules": "none.json",
              "secrets": "none", "bundles": [{ "name": "shop", "executable": "none" }],
              "listen": { "tls": { "certificate": "none.pem", "key": "none.pem" } },
              "auth": { "mail": { "smtp": { "host": "localhost" }, "from": "a@example.com", "templates": "none" } } }
            """)
        let read = try HostConfiguration.load(path, checkingFiles: false)
        #expect(read.rules == directory.file("none.rules") && read.listen.tls?.key == directory.file("none.pem"))
        let error = #expect(throws: ConfigurationError.self) { _ = try HostConfiguration.load(path) }
        #expect(error?.problems.count == 8)
    }

    @Test(arguments: MemorySize.offered)
    func memorySizesRoundTrip(mebibytes: Int) throws {
        let size = try #require(MemorySize(mebibytes: mebibytes))
        #expect(MemorySize(size.description) == size)
    }
}
