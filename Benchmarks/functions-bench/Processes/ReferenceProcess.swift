import Foundation

/// The bare server that callables are compared with, in its own process.
struct ReferenceProcess: Sendable {
    let child: ChildProcess
    let port: Int

    static func start(in directory: URL) async throws -> ReferenceProcess {
        let port = try await ChildProcess.freePort()
        let program = Bundle.main.executableURL?.path ?? CommandLine.arguments[0]
        let child = try ChildProcess(
            program, ["reference-http", "--port", "\(port)"], log: directory.appendingPathComponent("reference.log"))
        do {
            return try await child.wait(for: "answer on its port") {
                let answer = try? await Load.ask(Requests(port: port).get("/"), of: port)
                return answer.map { _ in ReferenceProcess(child: child, port: port) }
            }
        } catch {
            await child.stop()
            throw error
        }
    }
}
