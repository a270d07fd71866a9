import Foundation
import TestSupport
import Testing

/// `google-cloud-firestore`, unmodified, against the host and against the official emulator.
@Suite(.endsHangs) struct ServerClientTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let python = root.appendingPathComponent(".build-oracles/bin/python").path
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("server_client.py").path

    private static var isInstalled: Bool {
        FileManager.default.isExecutableFile(atPath: python) && OfficialEmulator.isInstalled
    }

    /// - Returns: what the script has printed, by line.
    private static func run(port: Int, project: String) async throws -> [String] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = [script, "\(port)", project]
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
}
