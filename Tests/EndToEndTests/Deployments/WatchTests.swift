import Foundation
import TestSupport
import Testing

/// `serve --watch`, with a program in place of the package manager that builds in no time.
@Suite(.endsHangs) struct WatchTests {
    /// Builds what the package's source names: the fixture's functions, the shop's, or nothing.
    private static func packageManager(_ directory: HostDirectory) -> String {
        """
        case "$*" in *--show-bin-path*) echo '\(directory.path)/built'; exit 0;; esac
        mkdir -p '\(directory.path)/built'
        read -r name < '\(directory.path)/Sources/main.swift'
        case "$name" in
        fixture) program='\(BuiltProducts.fixture)';;
        shop) program='\(BuiltProducts.shop)';;
        params) program='env FIXTURE_PARAMS=1 \(BuiltProducts.fixture)';;
        *) echo "main.swift:1:1: error: cannot find '$name' in scope"; exit 1;;
        esac
        printf '#!/bin/sh\nexec %s "$@"\n' "$program" > '\(directory.path)/built/App.new'
        chmod 755 '\(directory.path)/built/App.new'
        mv '\(directory.path)/built/App.new' '\(directory.path)/built/App'
        mkdir -p '\(directory.path)/.build/debug' && cp '\(directory.path)/built/App' '\(directory.path)/.build/debug/App'
        """
    }

    private static func makePackage(_ source: String) throws -> HostDirectory {
        let directory = try HostDirectory()
        let files = FileManager.default
        try files.createDirectory(atPath: directory.path + "/Sources", withIntermediateDirectories: true)
        try files.createDirectory(atPath: directory.path + "/tools", withIntermediateDirectories: true)
        try directory.write("// swift-tools-version: 6.2", to: "Package.swift")
        try directory.write(source, to: "Sources/main.swift")
        try ExecutableScript.make(packageManager(directory), at: directory.path + "/tools/swift")
        try directory.configure(bundles: #"{ "name": "app", "product": "App" }"#)
        return directory
    }

    /// Runs a test against a host that watches a package.
    ///
    /// - Parameter arrange: changes the package before the host starts.
    private static func watching(
        _ source: String, arrange: (HostDirectory) throws -> Void = { _ in },
        _ body: (RunningHost) async throws -> Void
    ) async throws {
        let directory = try makePackage(source)
        try arrange(directory)
        try await RunningHost.serving(
            in: directory, arguments: ["--watch"], path: directory.path + "/tools", body)
    }

    /// Starts a host that can't serve the package yet.
    private static func startWatching(_ directory: HostDirectory) throws -> HostProcess {
        try HostProcess(directory, arguments: ["--watch"], path: directory.path + "/tools")
    }

    /// Waits until the shop, which is the newest build, is served.
    private static func expectShop(_ host: RunningHost) async throws {
        try await host.waitForLog("app: serving the new build")
        #expect(try await host.call("purchase", "null", region: "asia-northeast1").status == 401)
    }

    /// Waits until a host that can't start has reported a reason, and waits for a change for the nth time.
    private static func waits(
        _ process: HostProcess, _ nth: Int, after reason: String = "waiting for a change"
    ) async throws {
        try await Bound.wait("the host waits after \(reason): \(process.errors.suffix(500))") {
            try #require(process.isRunning, "the host has ended: \(process.errors)")
            return process.errors.contains(reason)
                && process.errors.split(separator: "\n").count { $0.contains("waiting for a change") } == nth
        }
    }

    @Test func paramsAreReadAnewAndWhatHoldsFromTheNextStartIsTold() async throws {
        try await Self.watching(
            "params\n",
            arrange: { directory in
                try directory.write("GREETING=hi\n", to: ".env")
                try directory.writeSecrets("API_KEY=sesame\n")
            }
        ) { host in
            let directory = host.directory
            func params() async throws -> JSON? { try await host.call("params", "null").json["result"] }
            #expect(try await params()?["greeting"]?.text == "hi")
            #expect(try await host.call("readsSecret", "null").json["result"]?.integer == 6)

            try directory.write("GREETING=hello\n", to: ".env")
            try await Bound.wait("the greeting is another") { try await params()?["greeting"]?.text == "hello" }
            try directory.write("API_KEY=open sesame\n", to: ".secrets")
            try await Bound.wait("the secret is another") {
                try await host.call("readsSecret", "null").json["result"]?.integer == 11
            }

            try directory.write("GREETING=again\nLIMIT=many\n", to: ".env")
            try await host.waitForLog("params can't be reloaded: ")
            #expect(try await params()?["greeting"]?.text == "hello")
            // The served build and the one before, but none for the settings that can't be used.
            let copies = try FileManager.default.contentsOfDirectory(atPath: directory.data + "/local")
            #expect(copies.count == 2)
            try FileManager.default.removeItem(atPath: directory.path + "/.env")
            try directory.configure(
                bundles: #"{ "name": "app", "product": "App" }"#,
                extra: #""limits": { "queue": 7 }, "params": { "GREETING": "good day", "LIMIT": 3 }"#)
            try await host.waitForLog("functions.json: limits changed; restart the host to apply this")
            try await Bound.wait("functions.json gives the greeting") {
                try await params()?["greeting"]?.text == "good day"
            }
            #expect(try await params()?["limit"]?.integer == 3)
        }
    }

    @Test func whatChangesIsBuiltAndServedAndAFailedBuildLeavesWhatWas() async throws {
        try await Self.watching("fixture\n") { host in
            try await host.expectEcho()

            try host.directory.write("broken\n", to: "Sources/main.swift")
            try await host.waitForLog("App can't be built")
            try await host.waitForLog("cannot find 'broken' in scope")
            try await host.expectEcho()

            try host.directory.write("shop\n", to: "Sources/main.swift")
            try await Self.expectShop(host)
            #expect(try await host.call("echo", "1", region: "asia-northeast1").status == 404)
        }
    }

    @Test func whatWasBuiltIsServedAndNotAnOlderBuildOfAnotherConfiguration() async throws {
        try await Self.watching("fixture\n") { host in
            try await host.expectEcho()
            // As by a deployment, which builds for release.
            let builds = host.directory.path + "/.build"
            try FileManager.default.copyItem(atPath: builds + "/debug", toPath: builds + "/release")
            try host.directory.write("shop\n", to: "Sources/main.swift")
            try await Self.expectShop(host)
        }
    }

    @Test(arguments: ["Sources", "Sources/main.swift"])
    func whatChangesBehindALinkIsBuiltAndServed(link: String) async throws {
        try await Self.watching(
            "fixture\n",
            arrange: { directory in
                let files = FileManager.default
                let real = directory.path + "/elsewhere"
                try files.moveItem(atPath: directory.path + "/" + link, toPath: real)
                try files.createSymbolicLink(atPath: directory.path + "/" + link, withDestinationPath: real)
                // One that leads around.
                try files.createSymbolicLink(
                    atPath: directory.path + "/Sources/around", withDestinationPath: directory.path + "/Sources")
            }
        ) { host in
            try await host.expectEcho()
            try host.directory.write("shop\n", to: link == "Sources" ? "elsewhere/main.swift" : "elsewhere")
            try await Self.expectShop(host)
        }
    }

    @Test func aNewBuildIsServedOnceADeploymentInProgressHasEnded() async throws {
        try await Self.watching("fixture\n") { host in
            let directory = host.directory
            // Its manifest is asked for, and is not there yet.
            let (began, go) = (directory.path + "/began", directory.path + "/go")
            let slow = try host.bundle("slow", "touch '\(began)'\nwhile [ ! -e '\(go)' ]; do sleep 0.05; done\nexit 1")
            async let deployment = host.deploy(slow, as: "slow")
            try await Bound.wait("the deployment has begun") { FileManager.default.fileExists(atPath: began) }
            try directory.write("shop\n", to: "Sources/main.swift")
            // The first was at the start.
            try await host.waitForLog("app: built in", count: 2)
            try directory.write("", to: "go")
            let ended = try await deployment
            #expect(ended.status == 1)
            try await host.waitForLog("app: serving the new build")
        }
    }

    /// Behind a host that has ended, it would hold up the next one's.
    @Test func aBuildThatIsUnderWayEndsWithTheHost() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try Self.makePackage("fixture\n")
        let host = try await RunningHost.start(
            in: directory, arguments: ["--watch"], path: directory.path + "/tools")
        let endless = directory.path + "/tools/endless"
        try FileManager.default.createSymbolicLink(atPath: endless, withDestinationPath: "/bin/sleep")
        try ExecutableScript.make("exec '\(endless)' 1000000", at: directory.path + "/tools/swift")
        try directory.write("shop\n", to: "Sources/main.swift")
        try await Bound.wait("a build has begun") { !ProcessTable.running(endless).isEmpty }
        let build = try #require(ProcessTable.running(endless).first)
        // A terminal's Ctrl-C reaches both.
        #expect(getpgid(build) == getpgid(host.process.id))
        host.process.send(SIGTERM)
        #expect(try await host.process.end() == 0)
        try await Bound.wait("the build has ended") { ProcessTable.running(endless).isEmpty }
    }

    @Test func aBuildOfTheStartEndsWithTheHost() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try Self.makePackage("fixture\n")
        let endless = directory.path + "/tools/endless"
        try FileManager.default.createSymbolicLink(atPath: endless, withDestinationPath: "/bin/sleep")
        try ExecutableScript.make("exec '\(endless)' 1000000", at: directory.path + "/tools/swift")
        let process = try Self.startWatching(directory)
        defer { process.send(SIGKILL) }
        try await Bound.wait("a build has begun") { !ProcessTable.running(endless).isEmpty }
        process.send(SIGTERM)
        #expect(try await process.end() == 1)
        try await Bound.wait("the build has ended") { ProcessTable.running(endless).isEmpty }
    }

    /// A mistake at the start ends nothing: each edit is tried, until the host serves.
    @Test func aStartThatFailsWaitsForEdits() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try Self.makePackage("broken\n")
        try directory.write(#"{ "project": "demo-shop", "lisen": {} }"#, to: "functions.json")
        let process = try Self.startWatching(directory)
        try await Self.waits(process, 1, after: "lisen: unknown key")
        try directory.configure(bundles: #"{ "name": "app", "product": "App" }"#)
        try await Self.waits(process, 2, after: "it isn't built")
        #expect(process.errors.contains("cannot find 'broken' in scope"))
        try directory.write("params\n", to: "Sources/main.swift")
        try await Self.waits(process, 3, after: "API_KEY")
        try directory.writeSecrets("API_KEY=sesame\n", mode: 0o644)
        try await Bound.wait("the secret's mode or a param is refused: \(process.errors.suffix(500))") {
            process.errors.contains("chmod 600") || process.errors.contains("GREETING")
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: directory.path + "/.secrets")
        try directory.write("GREETING=hi\n", to: ".env")
        try await Bound.wait("the host serves: \(process.errors.suffix(500))") {
            try #require(process.isRunning, "the host has ended: \(process.errors)")
            return process.output.contains("readsSecret")
        }
        process.send(SIGTERM)
        #expect(try await process.end() == 0)
    }

    /// A file that the host reads at its start is watched, too, and a signal ends the wait.
    @Test func aMistakeInAnotherFileIsWaitedForAndAnInterruptionEndsTheWait() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try Self.makePackage("fixture\n")
        try directory.configure(
            bundles: #"{ "name": "app", "product": "App" }"#, extra: #""indexes": "firestore.indexes.json""#)
        try directory.write("{ broken", to: "firestore.indexes.json")
        let process = try Self.startWatching(directory)
        try await Self.waits(process, 1)
        // The next start fails while it opens its ports, when signals are handled already.
        try await ScriptedServer.run { _ in
        } body: { address in
            let port = try #require(address.split(separator: ":").last?.prefix { $0.isNumber })
            try directory.configure(
                bundles: #"{ "name": "app", "product": "App" }"#,
                ports: #""functions": 0, "firestore": \#(port), "database": 0, "auth": 0, "events": 0"#,
                extra: #""indexes": "firestore.indexes.json""#)
            try await Self.waits(process, 2)
            try directory.write("{}", to: "firestore.indexes.json")
            try await Self.waits(process, 3)
            process.send(SIGTERM)
            #expect(try await process.end() == 1)
        }
    }

    /// Files elsewhere, which are missing at first and then no certificate.
    @Test func aMistakeInAnyFileThatIsNamedIsWaitedFor() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try Self.makePackage("fixture\n")
        try directory.configure(
            bundles: #"{ "name": "app", "product": "App" }"#,
            ports: HostDirectory.freePorts + #", "tls": { "certificate": "tls/cert.pem", "key": "tls/key.pem" }"#)
        let process = try Self.startWatching(directory)
        try await Self.waits(process, 1, after: "the file tls/cert.pem does not exist")
        // Both come at once.
        let files = FileManager.default
        try files.createDirectory(atPath: directory.path + "/new", withIntermediateDirectories: false)
        for name in ["new/cert.pem", "new/key.pem"] { try directory.write("none\n", to: name) }
        try files.moveItem(atPath: directory.path + "/new", toPath: directory.path + "/tls")
        try await Self.waits(process, 2)
        try directory.write("none either\n", to: "tls/cert.pem")
        try await Self.waits(process, 3)
        process.send(SIGTERM)
        #expect(try await process.end() == 1)
    }

    /// Its functions were another bundle's, which comes after it in functions.json.
    @Test func aNewBuildIsServedOnceAnotherBundleNoLongerHasItsFunctions() async throws {
        let directory = try HostDirectory()
        for name in ["Sources/One", "Sources/Two", "tools"] {
            try FileManager.default.createDirectory(
                atPath: directory.path + "/" + name, withIntermediateDirectories: true)
        }
        try directory.write("// swift-tools-version: 6.2", to: "Package.swift")
        try directory.write("chat\n", to: "Sources/One/main.swift")
        try directory.write("fixture\n", to: "Sources/Two/main.swift")
        let builds = directory.path + "/.build/debug"
        try ExecutableScript.make(
            """
            case "$*" in *--show-bin-path*) echo '\(builds)'; exit 0;; esac
            mkdir -p '\(builds)'
            for product in One Two; do
            read -r name < "\(directory.path)/Sources/$product/main.swift"
            case "$name" in
            chat) program='\(BuiltProducts.chat)';;
            fixture) program='\(BuiltProducts.fixture)';;
            *) program='\(BuiltProducts.shop)';;
            esac
            printf '#!/bin/sh\nexec %s "$@"\n' "$program" > "\(builds)/$product.new"
            chmod 755 "\(builds)/$product.new"
            cmp -s "\(builds)/$product.new" "\(builds)/$product" || mv "\(builds)/$product.new" "\(builds)/$product"
            done
            """, at: directory.path + "/tools/swift")
        try directory.configure(
            bundles: #"{ "name": "one", "product": "One" }, { "name": "two", "product": "Two" }"#)
        try await RunningHost.serving(
            in: directory, arguments: ["--watch"], path: directory.path + "/tools"
        ) { host in
            try await host.expectEcho()
            try directory.write("fixture\n", to: "Sources/One/main.swift")
            try directory.write("shop\n", to: "Sources/Two/main.swift")
            try await host.waitForLog("two: serving the new build")
            try await host.waitForLog("one: serving the new build")
            try await host.expectEcho()
            #expect(try await host.call("purchase", "null", region: "asia-northeast1").status == 401)
        }
    }

    /// The build is fine; what it needs comes later.
    @Test func aNewBuildThatMissesASecretIsServedOnceItIsThere() async throws {
        try await Self.watching("fixture\n") { host in
            try host.directory.write("params\n", to: "Sources/main.swift")
            try await host.waitForLog("app: the new build can't be served")
            try await host.expectEcho()
            try host.directory.write("GREETING=hi\n", to: ".env")
            try host.directory.writeSecrets("API_KEY=sesame\n")
            try await host.waitForLog("app: serving the new build")
            #expect(try await host.call("readsSecret", "null").json["result"]?.integer == 6)
        }
    }
}
