import Foundation
import TestSupport
import Testing

/// What operators give bundles: params and secrets.
@Suite(.endsHangs) struct ParamTests {
    static let key = "sk_test_4eC39HqLyjWDarjtT1zdp7dc"

    /// A directory whose one bundle is the fixture with its params.
    private func directory(mode: String = "1", extra: String = "", environments: String = "") throws -> HostDirectory {
        let directory = try HostDirectory()
        let fixture = directory.program(.fixture)
        try FileManager.default.createSymbolicLink(atPath: fixture, withDestinationPath: BuiltProducts.fixture)
        let script = try directory.script("FIXTURE_PARAMS=\(mode) exec \(fixture) \"$@\"")
        try directory.configure(bundles: #"{ "name": "fixture", "executable": "\#(script)" }"#, extra: extra)
        return directory
    }

    private func secrets(_ directory: HostDirectory, mode: Int = 0o600, _ text: String = "API_KEY=\(key)\n") throws {
        try directory.writeSecrets(text, mode: mode)
    }

    /// Bytes that a core dump of the process may ever have.
    private func coreLimit(of process: Int32) -> String {
        let limits = FileManager.default.contents(atPath: "/proc/\(process)/limits") ?? Data()
        let line = String(decoding: limits, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix("Max core file size") }
        return line?.split(separator: " ").dropFirst(5).first.map(String.init) ?? "none"
    }

    private func refusal(_ directory: HostDirectory) async throws -> String {
        await HostSlots.take()
        defer { HostSlots.release() }
        let process = try HostProcess(directory)
        defer { process.send(SIGKILL) }
        #expect(try await process.end() != 0)
        #expect(!process.errors.contains(Self.key))
        return process.errors
    }

    @Test func valuesComeFromTheConfigurationThenTheProjectsFileThenTheCommonOne() async throws {
        let params =
            #""params": { "SHOUT": true, "RATE": 2 }, "environments": { "loud": { "params": { "GREETING": "HI" } } }"#
        let directory = try directory(extra: params)
        try secrets(directory)
        try directory.write("GREETING='from .env' # a word\nLIMIT=1\nTAGS=[\"a\",\"b\"]\nSHOUT=false\n", to: ".env")
        try directory.write("LIMIT=2\n", to: ".env.demo-shop")
        try await RunningHost.serving(in: directory) { host in
            let answer = try await host.call("params", "null")
            #expect(
                answer.json["result"]
                    == (try JSON(
                        parsing: #"{"greeting":"from .env","limit":2,"rate":2,"shout":true,"tags":["a","b"]}"#)))
        }
        try await RunningHost.serving(in: directory, arguments: ["--env", "loud"]) { host in
            let answer = try await host.call("params", "null")
            #expect(answer.json["result"]?["greeting"]?.text == "HI")
        }
    }

    @Test func aSecretReachesOnlyWhoDeclaresItAndNoLog() async throws {
        let directory = try directory(extra: #""params": { "GREETING": "hi" }"#)
        try secrets(directory)
        try await RunningHost.serving(in: directory) { host in
            #expect(try await host.call("readsSecret", "null").json["result"]?.integer == Self.key.utf8.count)
            _ = try await host.call("params", "null")
            for worker in directory.workers {
                let environment = FileManager.default.contents(atPath: "/proc/\(worker)/environ") ?? Data()
                #expect(!environment.isEmpty)
                #expect(environment.range(of: Data(Self.key.utf8)) == nil)
                #expect(["0", "1"].contains(coreLimit(of: worker)), "it may leave a core dump")
            }
            let refused = try await host.call("readsAnothersSecret", "null")
            #expect(refused.text == CrashTests.hidden)
            try await Bound.wait("the log says what to do") {
                host.process.errors.contains(
                    "readsAnothersSecret doesn't declare the secret API_KEY. Give it the option")
            }
            for way in ["print", "log", "throw"] { _ = try await host.call("leaks", "\"\(way)\"") }
            try await Bound.wait("the lines are logged") {
                host.process.errors.components(separatedBy: "the key is ●●●!").count == 4
            }
            let document = try await host.functions.send("GET", "/__/functions.yaml")
            #expect(document.text.contains("secretEnvironmentVariables:\n      - key: \"API_KEY\"\n"))
            #expect(!document.text.contains(Self.key))
            #expect(!host.process.errors.contains(Self.key))
        }
    }

    @Test func aParamThatIsNotListedIsNamedWhereItIsRead() async throws {
        let directory = try directory(extra: #""params": { "GREETING": "hi" }"#)
        try secrets(directory)
        try await RunningHost.serving(in: directory) { host in
            #expect(try await host.call("readsUnlisted", "null").text == CrashTests.hidden)
            try await Bound.wait("the log says what to do") {
                host.process.errors.contains("The bundle doesn't list the param UNLISTED")
            }
        }
    }

    @Test func whatIsMissingOrWrongStopsTheStartAndNamesItself() async throws {
        let bare = try await refusal(try directory())
        #expect(bare.contains("the param GREETING, which the bundle fixture (params, "), "\(bare)")
        #expect(bare.contains("GREETING=… in .env"), "\(bare)")
        #expect(bare.contains("the secret API_KEY, which readsSecret, leaks of the bundle fixture needs"), "\(bare)")

        let wrong = try directory(extra: #""params": { "GREETING": 7, "GREETNG": "hi" }"#)
        try secrets(wrong)
        try wrong.write("LIMIT=many\n", to: ".env")
        let text = try await refusal(wrong)
        #expect(text.contains("params.GREETING: the param GREETING"), "\(text)")
        #expect(text.contains("it is a string, and its value is an integer"), "\(text)")
        #expect(text.contains(#"no bundle has a param "GREETNG""#), "\(text)")
        #expect(text.contains(".env:1 is not; write LIMIT=7"), "\(text)")
        #expect(!text.contains("many"))

        let open = try directory(extra: #""params": { "GREETING": "hi" }"#)
        try secrets(open, mode: 0o640)
        #expect(try await refusal(open).contains("run: chmod 600 \(open.path)/.secrets"))

        let misplaced = try directory(extra: #""params": { "GREETING": "hi", "API_KEY": "\#(Self.key)" }"#)
        #expect(try await refusal(misplaced).contains("must not be in functions.json"))

        let early = try directory(mode: "early", extra: #""params": { "GREETING": "hi" }"#)
        try secrets(early)
        #expect(try await refusal(early).contains("The param LIMIT has no value before a function runs"))
    }
}
