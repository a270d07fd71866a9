import Foundation
import TestSupport
import NIOCore
import NIOPosix

/// The official Firestore emulator, for one test: what it answers is what our host shall answer.
final class OfficialEmulator: Sendable {
    /// Where the Debian package google-cloud-cli-firestore-emulator puts it; `FIRESTORE_EMULATOR_JAR` names another.
    private static let jar =
        ProcessInfo.processInfo.environment["FIRESTORE_EMULATOR_JAR"]
        ?? "/usr/lib/google-cloud-sdk/platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"

    private static let java = ["/usr/bin/java", "/usr/local/bin/java"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    static var isInstalled: Bool { java != nil && FileManager.default.fileExists(atPath: jar) }

    let client: HTTPClient
    private let process: Process

    /// How often another port is tried: a process may take one before the emulator does.
    private static let maxAttempts = 5

    /// Starts it, and returns once it serves.
    init() async throws {
        var attempt = 1
        while true {
            do {
                (client, process) = try await Self.launch()
                return
            } catch {
                attempt += 1
                guard attempt <= Self.maxAttempts else { throw error }
            }
        }
    }

    private static func launch() async throws -> (HTTPClient, Process) {
        let port = try await freePort()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: java ?? "java")
        process.arguments = [
            "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jar,
            "com.google.cloud.datastore.emulator.firestore.CloudFirestore", "start", "--host=127.0.0.1",
            "--port=\(port)", "--database-mode=firestore-native",
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.start()
        let client = HTTPClient(port: port)
        do {
            try await Bound.wait("the official emulator serves") {
                guard process.isRunning else { throw Bound.Exceeded(description: "the official emulator has ended") }
                return (try? await client.send("GET", "/"))?.status == 200
            }
        } catch {
            process.terminate()
            throw error
        }
        return (client, process)
    }

    /// Ends it. It holds nothing that is worth a gentle end.
    func stop() async throws {
        kill(process.processIdentifier, SIGKILL)
        try await Bound.wait("the official emulator ends") { process.hasEnded }
    }

    /// A port that no process listens on: the emulator can't choose one itself and report it.
    static func freePort() async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        defer { channel.close(promise: nil) }
        return channel.localAddress?.port ?? 0
    }
}
