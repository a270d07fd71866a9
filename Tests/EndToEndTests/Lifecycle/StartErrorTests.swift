import Foundation
import TestSupport
import Testing

/// What an operator reads when a host can't start: a sentence, and no trace.
@Suite(.endsHangs) struct StartErrorTests {
    /// Starts a host that must end by itself, and looks at how.
    /// - Parameter words: what the sentence must hold.
    /// - Parameter isSecond: whether the test has a host already, and with it a slot: a test that holds one must not wait for
    ///   another.
    private func expectRefusal(
        _ directory: HostDirectory, _ words: [String], lines: Int = 1,
        isSecond: Bool = false
    ) async throws {
        if !isSecond { await HostSlots.take() }
        defer { if !isSecond { HostSlots.release() } }
        let process = try HostProcess(directory)
        defer { process.send(SIGKILL) }
        let status = try await process.end()
        try await Bound.wait("the host says why") { !process.errors.isEmpty }
        #expect(status != 0)
        #expect(process.output.isEmpty, "it greeted: \(process.output)")
        let text = process.errors
        for word in words { #expect(text.contains(word), "\(text)") }
        #expect(text.hasPrefix("functions-host: "), "\(text)")
        #expect(text.split(separator: "\n").count == lines, "\(text)")
        for trace in ["Fatal error", "Error(", "Optional(", "/Sources/", "at 0x", "NIOCore", "SQLite error"] {
            #expect(!text.contains(trace), "\(text)")
        }
        #expect(directory.workers.isEmpty)
    }

    @Test(arguments: ["functions", "firestore", "database", "auth", "events"])
    func aTakenPortIsNamed(surface: String) async throws {
        try await RunningHost.serving([]) { host in
            let surfaces = [
                "functions": host.functions, "firestore": host.firestore, "database": host.database, "auth": host.auth,
                "events": host.events,
            ]
            let taken = surfaces[surface]
            let port = try #require(taken?.port)
            let ports = surfaces.keys.map { #""\#($0)": \#($0 == surface ? port : 0)"# }
            let directory = try HostDirectory()
            try directory.configure(bundles: "", ports: ports.joined(separator: ", "))
            try await expectRefusal(directory, ["\(port)", "taken", "listen.\(surface)"], isSecond: true)
        }
    }

    @Test func aDataDirectoryHasOneHost() async throws {
        try await RunningHost.serving([]) { host in
            try await expectRefusal(host.directory, ["another host", host.directory.data, "stop it"], isSecond: true)
            #expect(try await host.auth.send("GET", "/nothing").status == 404)
        }
    }

    @Test func settingsOfAFunctionWithoutBundlesAreRefused() async throws {
        let directory = try HostDirectory()
        try directory.configure(bundles: "", extra: #""functions": { "hello": { "maxInstances": 1 } }"#)
        try await expectRefusal(
            directory, ["functions.hello: ", #"no bundle has a function "hello"; none has any"#])
    }

    @Test func aDataDirectoryThatIsAFileIsRefused() async throws {
        let directory = try HostDirectory()
        try directory.configure(bundles: "")
        try directory.write("no directory", to: "data")
        try await expectRefusal(directory, [directory.data, "is a file"])
    }

    @Test func aDirectoryOfOtherThingsIsLeftAlone() async throws {
        let directory = try HostDirectory()
        try directory.configure(bundles: "")
        try FileManager.default.createDirectory(atPath: directory.data, withIntermediateDirectories: true)
        try directory.write("mine", to: "data/thesis.txt")
        try await expectRefusal(directory, ["thesis.txt", "not a data directory"])
    }

    @Test func dataOfANewerHostAreRefused() async throws {
        let directory = try HostDirectory()
        try directory.configure(bundles: "")
        try FileManager.default.createDirectory(atPath: directory.data, withIntermediateDirectories: true)
        try directory.write("9999\n", to: "data/version")
        try await expectRefusal(directory, ["9999", "newer"])
    }

    @Test(.enabled(if: HostDirectory.hasSQLite), arguments: [0, 50, 5000])
    func aTruncatedDatabaseIsRefused(size: Int) async throws {
        let directory = try HostDirectory()
        try directory.configure([])
        let host = try await RunningHost.start(in: directory)
        _ = try await SignedInUser.create(host)
        host.process.send(SIGTERM)
        try await host.process.end()
        let file = directory.data + "/documents.sqlite"
        let whole = try #require(FileManager.default.contents(atPath: file))
        try whole.prefix(size).write(to: URL(fileURLWithPath: file))
        try await expectRefusal(directory, ["documents.sqlite", "damaged"])
        #expect(FileManager.default.contents(atPath: file) == whole.prefix(size), "the damaged file was changed")
    }

    @Test func aMissingBundleIsNamed() async throws {
        let directory = try HostDirectory()
        try directory.configure(bundles: #"{ "name": "shop", "product": "NoSuchProduct" }"#)
        try await expectRefusal(directory, ["NoSuchProduct", "swift build --product"])
        try directory.configure(bundles: #"{ "name": "shop", "executable": "/nowhere/shop" }"#)
        try await expectRefusal(directory, ["/nowhere/shop"])
    }

    @Test(arguments: [
        ("echo garbage", "garbage"), ("echo garbage >&3", "an invalid manifest"),
        ("echo broken >&2; exit 1", "exit status 1"),
        ("kill -9 $$", "signal 9"), ("echo '{\"protocolVersion\":9,\"functions\":[]}' >&3", "version 9"),
    ])
    func aBundleThatTellsNoFunctionsIsRefused(script: String, words: String) async throws {
        let directory = try HostDirectory()
        let path = try directory.script(script)
        try directory.configure(bundles: #"{ "name": "bad", "executable": "\#(path)" }"#)
        try await expectRefusal(directory, [path, words])
    }

    /// The former host goes on with the data, which a newer one could have brought up to its own version.
    @Test func aHostThatCannotServeWhatIsDeployedLeavesTheDataAlone() async throws {
        let directory = try HostDirectory()
        try directory.configure(bundles: "")
        let release = "data/releases/shop/1"
        try FileManager.default.createDirectory(
            atPath: directory.path + "/" + release, withIntermediateDirectories: true)
        try directory.write("1\n", to: "data/version")
        try directory.write(
            #"{ "format": 1, "current": { "shop": "1" }, "history": [] }"#, to: "data/releases/index.json")
        try directory.write(#"{ "manifest": { "protocolVersion": 1 } }"#, to: release + "/release.json")
        try await expectRefusal(directory, ["version 1 of the worker protocol", "rollback shop"])
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.data)
        #expect(!names.contains { $0.hasPrefix("documents.") }, "\(names)")
    }

    @Test func aBundleThatHangsIsGivenUp() async throws {
        let directory = try HostDirectory()
        let path = try directory.script("echo waiting; sleep 3600")
        try directory.configure(bundles: #"{ "name": "bad", "executable": "\#(path)" }"#)
        try await expectRefusal(directory, [path, "killed", "waiting"])
    }

    @Test func twoBundlesCannotHaveOneFunction() async throws {
        let directory = try HostDirectory()
        let bundle = #"{ "name": "NAME", "executable": "\#(BuiltProducts.shop)" }"#
        let both = ["a", "b"].map { bundle.replacingOccurrences(of: "NAME", with: $0) }
        try directory.configure(bundles: both.joined(separator: ","))
        try await expectRefusal(directory, ["purchase", "catalog", "rename"], lines: 7)
    }

    @Test func anOverrideOfAnUnknownFunctionIsNamed() async throws {
        let directory = try HostDirectory()
        try directory.configure([.shop], extra: #""functions": { "purchas": { "maxInstances": 1 } }"#)
        try await expectRefusal(directory, ["functions.json:6:", "purchas", "purchase"])
    }

    @Test(arguments: [
        ("{", "functions.json:1:"), (#"{ "project": "demo-shop", "prot": 1 }"#, "prot"),
        (#"{ "project": 7 }"#, "project"), (#"{ "project": "demo-shop", "mode": "production" }"#, "demo-shop"),
        (#"{ "project": "demo-shop", "listen": { "functions": 70000 } }"#, "70000"),
        (#"{ "project": "demo-shop", "listen": { "host": "not an address" } }"#, "not an address"),
        (#"{ "project": "demo-shop", "rules": "missing.rules" }"#, "missing.rules"),
        (#"{ "mode": "development" }"#, "project"),
    ])
    func aMistakeInTheConfigurationIsNamedWithItsPlace(text: String, word: String) async throws {
        let directory = try HostDirectory()
        try directory.write(text, to: "functions.json")
        try await expectRefusal(directory, ["functions.json:1:", word])
    }

    @Test func aMissingConfigurationIsNamed() async throws {
        try await expectRefusal(try HostDirectory(), ["functions.json", "does not exist"])
    }
}
