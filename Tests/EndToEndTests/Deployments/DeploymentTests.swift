import CTestSystem
import Foundation
import TestSupport
import Testing

/// `deploy`, `releases` and `rollback` against the real host.
@Suite(.endsHangs) struct DeploymentTests {
    @Test func noCallFailsAcrossSwitches() async throws {
        let switches = ProcessInfo.processInfo.environment["SOAK_SWITCHES"].flatMap { Int($0) } ?? 3
        try await RunningHost.serving { host in
            let bundles = try [host.fixtureBundle("a"), host.fixtureBundle("b")]
            let (calls, failures) = try await host.calling {
                for number in 0..<switches {
                    let run = try await host.deploy(bundles[number % 2], as: "fixture")
                    #expect(run.status == 0, "\(run.errors)")
                }
            }
            #expect(failures.isEmpty, "\(failures.count) of \(calls) calls: \(failures.prefix(3))")
            #expect(calls > switches)
            print("\(switches) switches under \(calls) calls lost nothing")
            // The workers of all releases but the last end: one of each function is left.
            let functions = try await host.releases().first?["releases"]?[0]?["functions"]?.list.count ?? 0
            try await Bound.wait("the old workers are gone") {
                ProcessTable.children(of: host.process.id).count <= functions
            }
            let metrics = try await host.events.send("GET", "/metrics").text
            #expect(metrics.contains("functions_worker_ends_total{function=\"echo\",end=\"release\"} "), "\(metrics)")
        }
    }

    @Test func whatChangesIsToldAndNothingDoneInADryRun() async throws {
        try await RunningHost.serving([.shop]) { host in
            let small = try host.bundle("small", "export FIXTURE_PATTERNS=1\nexec '\(BuiltProducts.fixture)' \"$@\"")
            let first = try await host.deploy(small, as: "extra", "--dry-run")
            #expect(first.status == 0 && first.output.contains("+ stamp"), "\(first.output)\(first.errors)")
            #expect(try await host.current("extra") == nil)

            // Two bundles side by side, and names that two of them have.
            #expect(try await host.deploy(small, as: "extra").status == 0)
            #expect(try await host.call("purchase", "null", region: "asia-northeast1").status == 401)
            let again = try await host.deploy(small, as: "extra")
            #expect(again.status == 0 && again.output.contains("already"), "\(again.output)")
            let clash = try await host.deploy(try host.shopBundle("a"), as: "third")
            #expect(clash.status == 1 && clash.errors.contains("both have a function"), "\(clash.errors)")
            #expect(try await host.command(["undeploy", "extra"]).status == 0)

            // Deliveries that wait for a removed function are reported.
            #expect(try await host.command(["pause", "recordSale"]).status == 0)
            try await host.set("users/u/orders/o")
            let removal = try await host.deploy(small, as: "shop", "--dry-run")
            for words in ["- recordSale", "it has 1 pending delivery, kept for 7 days", "- expireCarts", "+ stamp"] {
                #expect(removal.output.contains(words), "\(removal.output)\(removal.errors)")
            }
        }
    }

    @Test func anInterruptedQuestionLeavesNoDraft() async throws {
        try await RunningHost.serving { host in
            try await Self.asking(host, aboutServing: try host.fixtureBundle("a")) { process, _ in
                let place = host.directory.data + "/releases/fixture"
                #expect(try FileManager.default.contentsOfDirectory(atPath: place).count == 1)
                kill(process.processIdentifier, SIGINT)
                try await Bound.wait("the command ends") { !process.isRunning }
                #expect(process.terminationStatus == 1)
                #expect(try FileManager.default.contentsOfDirectory(atPath: place) == [])
            }
        }
    }

    /// Equal builds are one release.
    @Test func whatOneOperatorDoesNotServeAnotherMayStill() async throws {
        try await RunningHost.serving { host in
            let executable = try host.fixtureBundle("a")
            try await Self.asking(host, aboutServing: executable) { process, terminal in
                #expect(try await host.deploy(executable, as: "fixture", "--dry-run").status == 0)
                let written = write(terminal, "y\n", 2)
                #expect(written == 2)
                try await Bound.wait("the command ends") { !process.isRunning }
                #expect(process.terminationStatus == 0)
            }
            #expect(try await host.current("fixture") != nil)
            try await host.expectEcho()
        }
    }

    /// Runs `deploy` at a terminal.
    ///
    /// - Parameter body: called once the command asks; gets the terminal's other end.
    private static func asking(
        _ host: RunningHost, aboutServing executable: String, _ body: (Process, Int32) async throws -> Void
    ) async throws {
        var name = [CChar](repeating: 0, count: 128)
        let terminal = test_open_terminal(&name, name.count)
        try #require(terminal >= 0)
        defer { close(terminal) }
        let path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let end = FileHandle(fileDescriptor: open(path, O_RDWR | O_NOCTTY), closeOnDealloc: true)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: BuiltProducts.host)
        process.arguments = [
            "deploy", "--config", host.directory.configuration, "--executable", executable, "--bundle", "fixture",
        ]
        process.standardInput = end
        process.standardOutput = end
        process.standardError = end
        try process.start()
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        var text = ""
        try await Bound.wait("the command asks") {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = read(terminal, &bytes, bytes.count)
            if count > 0 { text += String(decoding: bytes[..<count], as: UTF8.self) }
            return text.contains("Serve this release? [y/N]")
        }
        try await body(process, terminal)
    }

    @Test func eventsAreToldOnceAcrossASwitch() async throws {
        try await RunningHost.serving { host in
            // One is at work, in the release of before, when the switch comes; others wait behind it.
            try await host.set("slow/a", n: 1500)
            for id in ["b", "c"] { try await host.set("slow/\(id)", n: 1) }
            #expect(try await host.deploy(try host.fixtureBundle("a"), as: "fixture").status == 0)
            try await host.set("slow/d", n: 1)
            try await host.set("calm/a", n: 1)
            #expect(try await host.call("enqueue", #"{"queue":"work","data":{"does":"nothing"}}"#).status == 200)
            let received = try await host.wait(for: 4, of: "slowly")
            #expect(Set(received.compactMap { $0.value("document") }).count == 4)
            #expect(received.allSatisfy { $0.value("runs") == "1" })
            try await host.wait(of: "calm")
            try await host.wait(of: "work")
            #expect(try await host.command(["schedules", "run", "nightly", "--wait"]).status == 0)

            // What isn't served keeps its deliveries, and goes on when it is back.
            let small = try host.bundle("small", "export FIXTURE_PATTERNS=1\nexec '\(BuiltProducts.fixture)' \"$@\"")
            #expect(try await host.deploy(small, as: "fixture").status == 0)
            let gone = try await host.command(["schedules", "run", "nightly"])
            #expect(gone.status == 1 && gone.errors.contains("no function nightly has a schedule"), "\(gone.errors)")
            #expect(try await host.command(["rollback", "fixture"]).status == 0)
            try await host.set("calm/b", n: 1)
            try await host.wait(for: 2, of: "calm")
            #expect(try await host.command(["schedules", "run", "nightly", "--wait"]).status == 0)
        }
    }

    /// A bundle that tells its functions and whose workers end at once.
    static let lame = """
        if [ "$1" = worker ]; then echo 'I will not work' >&2; exit 9; fi
        exec '\(BuiltProducts.fixture)' "$@"
        """

    @Test func whatFailsLeavesTheOldReleaseServing() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.deploy(try host.fixtureBundle("a"), as: "fixture").status == 0)
            let served = try #require(try await host.current("fixture"))
            for (name, script, words) in [
                ("silent", "exit 4", "exit status 4"), ("text", "echo hello", "it wrote no manifest"),
                ("lame", Self.lame, "doesn't become ready"),
            ] {
                let run = try await host.deploy(try host.bundle(name, script), as: "fixture")
                #expect(run.status == 1 && run.errors.contains(words), "\(run.output)\(run.errors)")
                #expect(try await host.current("fixture") == served)
                try await host.expectEcho()
            }
            // Of those that failed nothing is left, whether they were prepared or already started.
            let clash = try await host.deploy(try host.fixtureBundle("b"), as: "other")
            #expect(clash.status == 1 && clash.errors.contains("both have a function"), "\(clash.errors)")
            let releases = host.directory.data + "/releases"
            #expect(try FileManager.default.contentsOfDirectory(atPath: releases + "/fixture") == [served])
            #expect(try FileManager.default.contentsOfDirectory(atPath: releases + "/other") == [])
            let missing = try await host.deploy(host.directory.path + "/nothing", as: "fixture")
            #expect(missing.status == 1, "\(missing.output)")
            let build = try await host.command(["deploy", host.directory.path, "--yes"])
            #expect(build.status == 1 && build.errors.contains("isn't a Swift package"), "\(build.errors)")
        }
    }

    @Test func aDeploymentUnderWayEndsBeforeTheHostDoes() async throws {
        try await RunningHost.serving { host in
            let mute = try host.bundle(
                "mute", "if [ \"$1\" = worker ]; then exec sleep 1000; fi\nexec '\(BuiltProducts.fixture)' \"$@\"")
            let before = ProcessTable.children(of: host.process.id).count
            async let deployment = host.deploy(mute, as: "fixture")
            try await Bound.wait("workers are probed") {
                // One alone may be asked for its functions.
                ProcessTable.children(of: host.process.id).count > before + 1
            }
            let probed = ProcessTable.children(of: host.process.id)
            host.process.send(SIGTERM)
            let run = try await deployment
            #expect(run.status == 1 && run.errors.contains("the host is stopping"), "\(run.output)\(run.errors)")
            #expect(try await host.process.end() == 0)
            #expect(!host.process.errors.contains("not ready in time"))
            for worker in probed { #expect(kill(worker, 0) == -1) }
        }
    }

    @Test func rollbacksLeadBackAndReleasesSurviveAKill() async throws {
        try await RunningHost.serving { host in
            var ids: [String] = []
            for mark in ["a", "b", "c"] {
                #expect(try await host.deploy(try host.fixtureBundle(mark), as: "fixture").status == 0)
                ids.append(try #require(try await host.current("fixture")))
            }
            #expect(Set(ids).count == 3)
            #expect(try await host.command(["rollback", "fixture"]).status == 0)
            #expect(try await host.current("fixture") == ids[1])
            #expect(try await host.command(["rollback"]).status == 0)
            #expect(try await host.current("fixture") == ids[0])
            let end = try await host.command(["rollback", "fixture"])
            #expect(end.status == 1 && end.errors.contains("has no release before the current one"), "\(end.errors)")
            #expect(try await host.command(["rollback", "fixture", "--to", ids[2]]).status == 0)
            let unknown = try await host.command(["rollback", "fixture", "--to", "nothing"])
            #expect(unknown.status == 1 && unknown.errors.contains(ids[2]), "\(unknown.errors)")
            // A release whose files were changed isn't served, even if they are large.
            let changed = host.directory.data + "/releases/fixture/\(ids[0])/bundle"
            let text = try String(contentsOfFile: changed, encoding: .utf8).replacingOccurrences(of: "# a", with: "# x")
            try Data(text.utf8).write(to: URL(fileURLWithPath: changed))
            let refused = try await host.command(["rollback", "fixture", "--to", ids[0]])
            #expect(refused.status == 1 && refused.errors.contains("the checksums differ"), "\(refused.errors)")
            #expect(try await host.current("fixture") == ids[2])
            try await host.kill()

            let second = try await RunningHost.start(in: host.directory)
            #expect(try await second.current("fixture") == ids[2])
            try await second.expectEcho()
            try await second.kill()

            // A release that a disk has changed is refused with what to do, which works without a host.
            let file = host.directory.data + "/releases/fixture/\(ids[2])/bundle"
            try FileManager.default.removeItem(atPath: file)
            let damaged = try HostProcess(host.directory)
            #expect(try await damaged.end() == 1)
            #expect(damaged.errors.contains("can't be served") && damaged.errors.contains("rollback fixture"))
            let offline = try await host.command(["rollback", "fixture", "--to", ids[1]])
            #expect(offline.status == 0, "\(offline.errors)")
            let third = try await RunningHost.start(in: host.directory)
            #expect(try await third.current("fixture") == ids[1])
            let history = try await third.command(["releases", "--history"])
            #expect(history.output.contains("rollback") && history.output.contains(ids[0]))
            #expect(try await third.command(["undeploy", "fixture"]).status == 0)
            #expect(try await third.current("fixture") == nil)
            try await third.expectEcho()
            try await third.kill()
        }
    }

    @Test func whatIsServedAsItIsBuiltIsNotTakenForTheReleaseThatWasDeployed() async throws {
        try await RunningHost.serving { host in
            let bundle = try host.fixtureBundle("a")
            #expect(try await host.deploy(bundle, as: "fixture").status == 0)
            let deployed = try #require(try await host.current("fixture"))
            try await host.kill()
            let local = try await RunningHost.start(in: host.directory, arguments: ["--local"])
            #expect(try await local.releases().first?["served"]?.text == "local")
            let run = try await local.deploy(bundle, as: "fixture")
            #expect(run.status == 0 && run.output.contains("replaces the local build"), "\(run.output)\(run.errors)")
            #expect(try await local.releases().first?["served"]?.text == deployed)
            #expect(try await local.deploy(bundle, as: "fixture").output.contains("already"))
            try await local.kill()
        }
    }

    @Test func aFunctionAtWorkIsTakenOverWithAsManyWorkers() async throws {
        try await RunningHost.serving { host in
            let calls = (1...3).map { _ in Task { try await host.call("oneAtATime", "500") } }
            for call in calls { #expect(try await call.value.status == 200) }
            #expect(try await host.deploy(try host.fixtureBundle("a"), as: "fixture").status == 0)
            func metrics() async throws -> String { try await host.events.send("GET", "/metrics").text }
            try await Bound.wait("the old workers have ended") {
                try await metrics().contains(#"functions_worker_ends_total{function="oneAtATime",end="release"} 3"#)
            }
            let text = try await metrics()
            #expect(text.contains("functions_workers{function=\"oneAtATime\"} 3\n"), "\(text)")
            #expect(text.contains("functions_workers{function=\"spins\"} 0\n"), "\(text)")
        }
    }

    @Test func aReleaseIsPromotedAsItIs() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try HostDirectory()
        try directory.configure(
            [.fixture],
            extra: """
                "environments": {
                  "staging": { "data": "staging", "project": "demo-staging" },
                  "production": { "data": "production", "project": "demo-product" }
                }
                """)
        let staging = try await RunningHost.start(in: directory, arguments: ["--env", "staging"])
        let production = try await RunningHost.start(in: directory, arguments: ["--env", "production"])
        let bundle = try staging.fixtureBundle("a")
        let deployed = try await staging.command(
            ["deploy", "--executable", bundle, "--bundle", "fixture", "--yes", "--env", "staging"])
        #expect(deployed.status == 0, "\(deployed.errors)")
        let promote = ["promote", "fixture", "--from", "staging", "--env", "production", "--yes"]
        let promoted = try await staging.command(promote)
        #expect(promoted.status == 0, "\(promoted.errors)")
        func release(_ environment: String) async throws -> JSON? {
            let run = try await staging.command(["releases", "--json", "--env", environment])
            return run.json?["bundles"]?[0]?["releases"]?[0]
        }
        let (from, to) = (try await release("staging"), try await release("production"))
        #expect(from?["id"]?.text != nil && from?["id"]?.text == to?["id"]?.text)
        #expect(from?["checksum"]?.text == to?["checksum"]?.text)
        let answer = try await production.functions.send(
            "POST", "/demo-product/asia-northeast1/echo", headers: ["Content-Type": "application/json"], #"{"data":1}"#)
        #expect(answer.text == #"{"result":1}"#)
        let again = try await staging.command(promote)
        #expect(again.status == 0 && again.output.contains("already"), "\(again.output)")
        for host in [staging, production] { try await host.kill() }
    }
}
