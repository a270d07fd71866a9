import WorkerProtocol
import TestSupport
import FunctionManifest
@testable import Workers
@testable import HostConfiguration
@testable import Deployments
import Foundation
import NIOCore
import Testing

@Suite struct ParamResolutionTests {
    private func function(_ name: String, secrets: [String] = []) -> FunctionManifest {
        FunctionManifest(
            name: name, regions: ["us-central1"], memoryMiB: 256, timeoutSeconds: 60, cpu: 1, concurrency: 80,
            minInstances: 0, maxInstances: 100, labels: [:], secrets: secrets, ingress: "ALLOW_ALL",
            invoker: ["public"], isTransactional: false, trigger: .http(.init(cors: .off)))
    }

    private func file(_ text: String) throws -> VariableFile {
        try VariableFile(path: "/app/.env", bytes: Array(text.utf8))
    }

    private func resolution(
        _ params: [ParamManifest], _ functions: [FunctionManifest] = [], from sources: ParamSources
    ) -> ParamResolution {
        let manifest = Manifest(functions: functions, params: params)
        #expect(manifest.problems.isEmpty)
        return ParamResolution(manifest, of: "shop", from: sources)
    }

    @Test(arguments: [
        (ParamType.string, "7", ParamValue.string("7")), (.int, "-7", .int(-7)), (.boolean, "TRUE", .boolean(true)),
        (.boolean, "false", .boolean(false)), (.list, #"["a","b"]"#, .list(["a", "b"])), (.list, "[]", .list([])),
        (.string, "", .string("")), (.float, "7", .float(7)), (.float, "-0.25", .float(-0.25)),
        (.float, "1e-3", .float(0.001)), (.float, "+.5", .float(0.5)),
    ])
    func valuesAreParsedByType(type: ParamType, text: String, value: ParamValue) throws {
        let resolution = resolution(
            [.init("A", type)], from: ParamSources(variables: [try file("A='\(text)'")]))
        #expect(resolution.problems.isEmpty)
        #expect(resolution.values == ["A": value])
    }

    @Test(arguments: [
        (ParamType.int, "7.5"), (.int, ""), (.boolean, "yes"), (.list, "a,b"), (.list, "[1]"),
        (.float, ""), (.float, "half"), (.float, "0,5"), (.float, "1e"), (.float, "nan"), (.float, "inf"),
        (.float, "-Infinity"), (.float, "1e999"), (.float, "0x1p3"), (.float, " 1"),
    ])
    func valuesOfAnotherTypeAreRejected(type: ParamType, text: String) throws {
        let problems = resolution(
            [.init("A", type)], [function("f")], from: ParamSources(variables: [try file("\nA='\(text)'")])
        ).problems
        #expect(problems.count == 1)
        #expect(
            problems.first?.message.hasPrefix(
                "the param A, which the bundle shop (f) needs: it is \(type.words), and its value in /app/.env:2 is not"
            )
                == true)
    }

    @Test func aConfiguredNumberMayBeAnInteger() {
        let params = [ParamManifest("A", .float), ParamManifest("B", .float)]
        let given = resolution(params, from: ParamSources(configured: ["A": .int(7), "B": .float(-0.5)]))
        #expect(given.problems.isEmpty)
        #expect(given.values == ["A": .float(7), "B": .float(-0.5)])
    }

    @Test(arguments: [
        (ParamType.float, ParamValue.string("0.5"), "it is a finite number, and its value is a string; write 0.5"),
        (.int, .float(7.5), "it is an integer, and its value is a finite number; write 7"),
    ])
    func aConfiguredValueOfAnotherTypeIsRejected(type: ParamType, value: ParamValue, words: String) {
        let problems = resolution([.init("A", type)], from: ParamSources(configured: ["A": value])).problems
        #expect(problems.map(\.key) == ["params.A"])
        #expect(problems.first?.message.hasSuffix(words) == true, "\(problems)")
    }

    @Test func theConfigurationOverridesTheLastFileWhichOverridesTheDefault() throws {
        let params = ["A", "B", "C", "D"].map { ParamManifest($0, .string, defaultValue: .string("default")) }
        let sources = ParamSources(
            configured: ["A": .string("configured")],
            variables: [try file("A=common\nB=common\nC=common"), try file("A=project\nB=project")])
        #expect(
            resolution(params, from: sources).values == [
                "A": .string("configured"), "B": .string("project"), "C": .string("common"), "D": .string("default"),
            ])
    }

    @Test func aSecretComesFromItsFileForFunctionsThatDeclareIt() throws {
        let params = [ParamManifest("KEY", .secret), ParamManifest("A", .string)]
        let functions = [function("pays", secrets: ["KEY"]), function("other")]
        let given = resolution(
            params, functions,
            from: ParamSources(
                configured: ["A": .string("a")], secrets: [try file("KEY=old"), try file("KEY=sesame")]))
        #expect(given.problems.isEmpty)
        #expect(given.values(for: functions[0]).secrets == ["KEY": "sesame"])
        #expect(given.values(for: functions[1]).secrets == [:])
        #expect(given.values(for: functions[1]).values == ["A": .string("a")])
        #expect(!"\(given.values(for: functions[0]))".contains("sesame"))

        let places: [(ParamSources, String)] = [
            (ParamSources(), "it has no value. Write KEY=… in .secrets beside functions.json, mode 600"),
            (ParamSources(variables: [try file("KEY=sesame")]), "must not be in /app/.env:1; move it to .secrets"),
            (
                ParamSources(configured: ["KEY": .string("sesame")]),
                "must not be in functions.json; write it in .secrets beside functions.json, mode 600"
            ),
            (ParamSources(secretsPlace: "/keys"), "it has no value. Write KEY=… in /keys, mode 600"),
            (ParamSources(variables: [try file("KEY=sesame")], secretsPlace: "/keys"), "/app/.env:1; move it to /keys"),
            (ParamSources(secrets: [try file("KEY=")]), "its value in /app/.env:1 is empty"),
        ]
        for (sources, words) in places {
            let problems = resolution([params[0]], functions, from: sources).problems
            #expect(problems.count == 1)
            #expect(problems.first?.message.hasPrefix("the secret KEY, which pays of the bundle shop needs: ") == true)
            #expect(problems.first?.message.contains(words) == true, "\(problems)")
            #expect(problems.first?.message.contains("sesame") == false)
        }
    }

    @Test func valuesRoundTripOverTheLink() throws {
        let values = ParamValues(
            function: "f",
            values: [
                "A": .string("ü"), "B": .int(-1), "C": .boolean(true), "D": .list(["x", ""]), "E": .list([]),
                "F": .float(-1e-300),
            ],
            secrets: ["KEY": "sesame\n"])
        var buffer = ByteBuffer()
        values.write(to: &buffer)
        #expect(try ParamValues(from: &buffer) == values)
        #expect(buffer.readableBytes == 0)
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan]) func aNumberThatIsNotFiniteIsRefusedOnTheLink(
        number: Double
    ) {
        var buffer = ByteBuffer()
        ParamValues(function: "f", values: ["A": .float(number)]).write(to: &buffer)
        #expect(throws: ProtocolViolation.self) { try ParamValues(from: &buffer) }
    }

    @Test func aFileOfSecretsMustBelongToItsOwnerOnly() throws {
        let directory = try TemporaryDirectory()
        let configuration = HostConfiguration(
            project: "demo-shop", mode: .development, data: directory.file("data"),
            places: ConfigurationPlaces(file: directory.file("functions.json")))
        let manifest = Manifest(functions: [], params: [ParamManifest("KEY", .secret)])
        #expect(try ParamSources.load(configuration, for: manifest) == ParamSources())
        var named = configuration
        named.secrets = directory.file("keys")
        #expect(try ParamSources.load(named, for: manifest).secretsPlace == directory.file("keys"))
        let path = try directory.write(".secrets.demo-shop", "KEY=sesame")
        for mode in [0o644, 0o660, 0o604] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let error = #expect(throws: ConfigurationError.self) {
                try ParamSources.load(configuration, for: manifest)
            }
            #expect(error?.description.hasSuffix("run: chmod 600 \(path)") == true)
        }
        // The file doesn't matter to a bundle without secrets.
        let others = Manifest(functions: [], params: [ParamManifest("A", .string)])
        #expect(try ParamSources.load(configuration, for: others) == ParamSources())
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(
            try ParamSources.load(configuration, for: manifest).secrets.first?.entries["KEY"]?.value == "sesame")

        // A file of another user. If this user may change owners, the file gets another owner; else the test passes
        // another user.
        let isGiven = chown(path, 4711, gid_t.max) == 0
        let user = isGiven ? geteuid() : geteuid() + 1
        let owner = isGiven ? 4711 : geteuid()
        let error = #expect(throws: ConfigurationError.self) {
            try ParamSources.load(configuration, for: manifest, user: user)
        }
        #expect(
            error?.description.hasSuffix(
                "belongs to the user \(owner), and the host runs as the user \(user); run: chown \(user) \(path)")
                == true)
    }

    @Test(arguments: [
        ("the key is sesame-op", "the key is ●●●"), ("the key is s", "the key is ●●●"), ("sesame-open", "●●●"),
        ("line two o", "●●●"), ("a longer door of line two of it h", "a longer ●●●"), ("no key", "no key"), ("", ""),
        ("sesame-opensesame-ope", "●●●●●●"), ("in sesame-openly", "in ●●●ly"),
    ])
    func aTruncatedTextDoesNotEndWithPartOfASecret(text: String, filtered: String) {
        let filter = SecretFilter(
            ParamValues(
                function: "f",
                secrets: [
                    "A": "sesame-open", "B": "line one\nline two of it", "C": "door of line two of it here",
                ]))
        #expect(filter.filtered(beginning: text.utf8) == filtered)
    }

    @Test(arguments: [
        ("the key is sesame-open!", "the key is ●●●!"), ("sesame-opensesame-open", "●●●●●●"), ("sesame", "sesame"),
        ("line two of it", "●●●"), ("", ""),
    ])
    func secretsAreRedactedInOutput(text: String, filtered: String) {
        let filter = SecretFilter(
            ParamValues(
                function: "f", secrets: ["A": "sesame-open", "B": "line one\nline two of it", "C": "short"]))
        #expect(filter.filtered(text) == filtered)
        #expect(filter.filtered(json: ByteBuffer(string: "\"\(text)\"")) == ByteBuffer(string: "\"\(filtered)\""))
        #expect(SecretFilter(ParamValues(function: "f")).filtered(text) == text)
    }
}
