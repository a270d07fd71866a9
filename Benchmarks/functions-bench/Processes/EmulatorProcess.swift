import Foundation

/// The official Firestore emulator, if it is installed.
struct EmulatorProcess: Sendable {
    let child: ChildProcess
    let port: Int

    /// - Returns: nil if Java or the emulator's jar isn't installed.
    static func start(in directory: URL) async throws -> EmulatorProcess? {
        guard let java = program("java"), let jar = jar() else { return nil }
        let port = try await ChildProcess.freePort()
        let child = try ChildProcess(
            java,
            [
                "-cp", jar, "com.google.cloud.datastore.emulator.firestore.CloudFirestore", "start",
                "--host=127.0.0.1", "--port=\(port)", "--database-mode=firestore-native",
            ], log: directory.appendingPathComponent("emulator.log"))
        do {
            return try await child.wait(for: "answer on its port") {
                guard let answer = try? await Load.ask(Requests(port: port).get("/"), of: port) else { return nil }
                return answer.status == 200 ? EmulatorProcess(child: child, port: port) : nil
            }
        } catch {
            await child.stop()
            throw error
        }
    }

    private static func program(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The jar in the Debian package.
    private static func jar() -> String? {
        let list = "/var/lib/dpkg/info/google-cloud-cli-firestore-emulator.list"
        guard let files = try? String(contentsOfFile: list, encoding: .utf8) else { return nil }
        return files.split(separator: "\n").map(String.init)
            .first { $0.hasSuffix(".jar") && FileManager.default.isReadableFile(atPath: $0) }
    }
}
