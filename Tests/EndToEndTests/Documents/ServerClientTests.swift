import Foundation
import TestSupport
import Testing

/// `google-cloud-firestore`, unmodified, against the host and against the official emulator.
@Suite(.endsHangs) struct ServerClientTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let python = root.appendingPathComponent(".build-oracles/bin/python").path
    private static func script(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name).path
    }

    private static var isInstalled: Bool {
        FileManager.default.isExecutableFile(atPath: python) && OfficialEmulator.isInstalled
    }

    /// - Returns: what the script has printed, by line.
    private static func run(port: Int, project: String) async throws -> [String] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = [script("server_client.py"), "\(port)", project]
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let printed = Task.detached { try output.fileHandleForReading.readToEnd() ?? Data() }
        let failures = Task.detached { try errors.fileHandleForReading.readToEnd() ?? Data() }
        let text = String(decoding: try await printed.value, as: UTF8.self)
        let problem = String(decoding: try await failures.value, as: UTF8.self)
        #expect(text.contains("\ndeleted "), "\(problem.suffix(2000))")
        return text.split(separator: "\n").map(String.init)
    }

    @Test(
        .enabled(
            if: isInstalled,
            "google-cloud-firestore or the official emulator is not installed: .ci/oracles, and apt-get install google-cloud-cli-firestore-emulator"
        ))
    func theServerLibrarySeesWhatItSeesOnTheEmulator() async throws {
        try await RunningHost.serving([]) { host in
            let ours = try await Self.run(port: host.firestore.port, project: "demo-shop")
            let emulator = try await OfficialEmulator()
            do {
                let theirs = try await Self.run(port: emulator.client.port, project: "demo-shop")
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
    @Test(.enabled(if: isInstalled, "google-cloud-firestore is not installed: .ci/oracles"))
    func aListenerOutlivesTheHost() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try HostDirectory()
        // Below those that the system gives to others.
        let port = Int.random(in: 20_000..<30_000)
        try directory.configure(
            bundles: "", ports: #""functions": 0, "firestore": \#(port), "auth": 0, "events": 0"#)
        var host = try await RunningHost.start(in: directory)
        let output = directory.path + "/heard"
        _ = FileManager.default.createFile(atPath: output, contents: nil)
        let listener = Process()
        listener.executableURL = URL(fileURLWithPath: Self.python)
        listener.arguments = [Self.script("server_listener.py"), "\(port)", "demo-shop"]
        listener.standardOutput = FileHandle(forWritingAtPath: output)
        listener.standardError = FileHandle.nullDevice
        try listener.run()
        defer { kill(listener.processIdentifier, SIGKILL) }

        func send(_ method: String, _ id: String, _ n: Int = 0) async throws {
            let path = "/v1/projects/demo-shop/databases/(default)/documents/heard/\(id)"
            let headers = ["Authorization": "Bearer owner", "Content-Type": "application/json"]
            let body = method == "PATCH" ? #"{"fields":{"n":{"integerValue":"\#(n)"}}}"# : ""
            #expect(try await host.firestore.send(method, path, headers: headers, body).status == 200)
        }
        func hears(_ expected: String) async throws {
            try await Bound.wait("the listener hears \(expected)") {
                let text = String(decoding: FileManager.default.contents(atPath: output) ?? Data(), as: UTF8.self)
                return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().last == expected[...]
            }
        }
        try await send("PATCH", "a", 1)
        try await send("PATCH", "b", 1)
        try await hears("a=1 b=1")
        for round in 2..<4 {
            host.process.send(SIGKILL)
            try await host.process.end()
            host = try await RunningHost.start(in: directory)
            try await send("DELETE", "a")
            try await send("PATCH", "b", round)
            try await send("PATCH", "c", round)
            try await hears("b=\(round) c=\(round)")
            try await send("PATCH", "a", round)
            try await hears("a=\(round) b=\(round) c=\(round)")
        }
        host.process.send(SIGTERM)
        #expect(try await host.process.end() == 0)
    }
}
