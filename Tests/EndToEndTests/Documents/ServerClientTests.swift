import Foundation
import TestSupport
import Testing

/// `google-cloud-firestore`, unmodified, against the host and against the official emulator.
@Suite(
    .endsHangs, .enabled(if: ClientScript.isInstalled, "google-cloud-firestore is not installed: .ci/oracles"))
struct ServerClientTests {
    /// - Returns: what the script has printed, by line.
    private static func run(port: Int, _ options: String..., in directory: String) async throws -> [String] {
        let script = try ClientScript("server_client.py", ["\(port)", "demo-shop"] + options, in: directory)
        try await script.succeed()
        #expect(script.lines.contains { $0.hasPrefix("deleted ") }, "\(script.lines)")
        return script.lines
    }

    @Test(
        .enabled(
            if: OfficialEmulator.isInstalled,
            "the official emulator is not installed: apt-get install google-cloud-cli-firestore-emulator"))
    func theServerLibrarySeesWhatItSeesOnTheEmulator() async throws {
        try await RunningHost.serving([]) { host in
            let directory = try TemporaryDirectory()
            let ours = try await Self.run(port: host.firestore.port, in: directory.path)
            let emulator = try await OfficialEmulator()
            do {
                let theirs = try await Self.run(port: emulator.client.port, "--in-turn", in: directory.path)
                #expect(ours.count == theirs.count)
                for (our, their) in zip(ours, theirs) { #expect(our == their) }
            } catch {
                try await emulator.stop()
                throw error
            }
            try await emulator.stop()
        }
    }

    /// A listener goes on where it was, whatever has happened meanwhile.
    @Test func aListenerOutlivesTheHost() async throws {
        try await MortalClientsHost.serving { mortal in
            let listener = try ClientScript(
                "server_listener.py", ["\(mortal.port)", "demo-shop"], in: mortal.directory.path)
            defer { listener.kill() }

            func send(_ method: String, _ id: String, _ n: Int = 0) async throws {
                let path = "/v1/projects/demo-shop/databases/(default)/documents/heard/\(id)"
                let headers = ["Authorization": "Bearer owner", "Content-Type": "application/json"]
                let body = method == "PATCH" ? #"{"fields":{"n":{"integerValue":"\#(n)"}}}"# : ""
                #expect(try await mortal.host.firestore.send(method, path, headers: headers, body).status == 200)
            }
            func hears(_ expected: String) async throws {
                try await Bound.wait("the listener hears \(expected)") { listener.lines.last == expected }
            }
            try await send("PATCH", "a", 1)
            try await send("PATCH", "b", 1)
            try await hears("a=1 b=1")
            for round in 2..<4 {
                try await mortal.killAndStart()
                try await send("DELETE", "a")
                try await send("PATCH", "b", round)
                try await send("PATCH", "c", round)
                try await hears("b=\(round) c=\(round)")
                try await send("PATCH", "a", round)
                try await hears("a=\(round) b=\(round) c=\(round)")
            }
        }
    }

    /// Many listeners lose their connections at random moments, and the host is killed meanwhile: each ends with exactly the
    /// host's state, and none sees half a commit. `SOAK_SECONDS` makes it longer, with ten times as many.
    @Test func listenersThatResumeEndWithTheHostsState() async throws {
        let soak = ProcessInfo.processInfo.environment["SOAK_SECONDS"].flatMap { Int($0) }
        try await MortalClientsHost.serving { mortal in
            let script = try ClientScript(
                "listener_model.py",
                [
                    "\(mortal.port)", "demo-shop", "--seconds", "\(soak ?? 8)", "--listeners",
                    soak == nil ? "150" : "1500",
                ], in: mortal.directory.path)
            defer { script.kill() }
            try await Bound.wait("the listeners begin") {
                script.lines.contains { $0.contains("writing") } || !script.isRunning
            }
            for _ in 0..<(soak.map { $0 / 5 } ?? 2) where script.isRunning {
                try await Task.sleep(for: .milliseconds(Int.random(in: 500...2500)))
                try await mortal.killAndStart()
            }
            try await script.succeed()
            print(script.lines.last ?? "")
        }
    }
}

/// A host whose clients reach it again on the same port after it was killed.
final class MortalClientsHost {
    let directory: HostDirectory
    let port: Int
    private(set) var host: RunningHost

    private init(_ directory: HostDirectory, _ port: Int, _ host: RunningHost) {
        (self.directory, self.port, self.host) = (directory, port, host)
    }

    static func serving(_ body: (MortalClientsHost) async throws -> Void) async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try HostDirectory()
        // Below those that the system gives to others.
        let port = Int.random(in: 20_000..<30_000)
        try directory.configure(
            bundles: "", ports: #""functions": 0, "firestore": \#(port), "database": 0, "auth": 0, "events": 0"#)
        let mortal = MortalClientsHost(directory, port, try await RunningHost.start(in: directory))
        do {
            try await body(mortal)
        } catch {
            try await mortal.host.kill()
            throw error
        }
        mortal.host.process.send(SIGTERM)
        #expect(try await mortal.host.process.end() == 0)
    }

    func killAndStart() async throws {
        try await host.kill()
        host = try await RunningHost.start(in: directory)
    }
}
