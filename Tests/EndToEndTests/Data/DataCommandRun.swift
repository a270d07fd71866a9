import Foundation
import TestSupport
import NIOPosix

/// One run of a command of `functions-host`, such as `data …`, and its result.
struct DataCommandRun: Sendable {
    let status: Int32
    let output: String
    let errors: String

    /// The result, of a run with `--json`.
    var json: JSON? { try? JSON(parsing: output) }

    /// Runs a command in the directory and waits for its end.
    /// - Parameters:
    ///   - command: what stands before the arguments.
    ///   - output: where the standard output goes, instead of ``output``.
    ///   - killTime: when the command is killed, if it hasn't ended.
    static func run(
        _ arguments: [String], in directory: HostDirectory, input: String? = nil, command: String? = "data",
        to output: String? = nil, killedAfter killTime: TimeInterval? = nil
    ) async throws -> DataCommandRun {
        // Waiting blocks, which tasks must not.
        try await NIOThreadPool.singleton.runIfActive {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: BuiltProducts.host)
            process.arguments = (command.map { [$0] } ?? []) + arguments
            process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
            let name = directory.path + "/" + UUID().uuidString
            for suffix in [".in", ".out", ".err"] {
                let content = suffix == ".in" ? input ?? "" : ""
                try Data(content.utf8).write(to: URL(fileURLWithPath: name + suffix))
            }
            process.standardInput = FileHandle(forReadingAtPath: name + ".in")
            process.standardOutput = FileHandle(forWritingAtPath: output ?? name + ".out")
            process.standardError = FileHandle(forWritingAtPath: name + ".err")
            try process.start()
            if let killTime {
                Thread.sleep(forTimeInterval: killTime)
                if !process.hasEnded { kill(process.processIdentifier, SIGKILL) }
            }
            process.waitUntilExit()
            func text(_ suffix: String) -> String {
                defer { try? FileManager.default.removeItem(atPath: name + suffix) }
                return String(decoding: FileManager.default.contents(atPath: name + suffix) ?? Data(), as: UTF8.self)
            }
            _ = text(".in")
            return DataCommandRun(status: process.terminationStatus, output: text(".out"), errors: text(".err"))
        }
    }
}

extension RunningHost {
    func data(_ arguments: String..., input: String? = nil) async throws -> DataCommandRun {
        try await DataCommandRun.run(arguments, in: directory, input: input)
    }

    /// Writes a document as an admin.
    func put(_ path: String, _ fields: String) async throws {
        let answer = try await firestore.send(
            "PATCH", "/v1/projects/demo-shop/databases/(default)/documents/\(path)",
            headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"], #"{"fields":\#(fields)}"#)
        guard answer.status == 200 else { throw Bound.Exceeded(description: "\(answer.status): \(answer.text)") }
    }
}
