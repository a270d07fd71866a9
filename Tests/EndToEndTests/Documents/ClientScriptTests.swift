import Foundation
import TestSupport
import Testing

/// The same random calls and streams over gRPC for the host and for the official emulator. `SOAK_SECONDS` makes it longer.
///
/// The other scripts of `Clients` have a host of their own and no tests beside them: `.ci/run` runs them.
@Suite(
    .endsHangs,
    .enabled(
        if: ClientScript.isInstalled && OfficialEmulator.isInstalled,
        "google-cloud-firestore or the official emulator is not installed: .ci/oracles, and apt-get install google-cloud-cli-firestore-emulator"
    ))
struct ClientScriptTests {
    private static let isSoak = ProcessInfo.processInfo.environment["SOAK_SECONDS"] != nil

    @Test func randomCallsAndStreamsAreAnsweredAsTheEmulatorDoes() async throws {
        try await RunningHost.serving([]) { host in
            let emulator = try await OfficialEmulator()
            do {
                let directory = try TemporaryDirectory()
                let script = try ClientScript(
                    "side_by_side.py",
                    ["\(host.firestore.port)", "\(emulator.client.port)"]
                        + (Self.isSoak
                            ? ["--rounds", "100"]
                            : ["--seed", "1", "--rounds", "1", "--only", "listen,write,requests"]),
                    in: directory.path)
                defer { script.kill() }
                try await script.succeed()
                for line in script.lines.filter({ $0.contains("seed is") }) { print("side by side: \(line)") }
            } catch {
                try await emulator.stop()
                throw error
            }
            try await emulator.stop()
        }
    }
}
