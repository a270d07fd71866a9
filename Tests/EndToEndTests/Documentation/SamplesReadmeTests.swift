import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

/// The commands of Samples/README.md have the answers that stand below them.
@Suite(.endsHangs) struct SamplesReadmeTests {
    private struct Step {
        var command: String
        /// With `…` for any text.
        var answer = ""
        /// Whether the answer may come later than the command.
        var isEventual: Bool
    }

    private static let samples = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Samples")

    private static func steps() throws -> [Step] {
        var steps: [Step] = []
        var block: String?
        for line in try String(contentsOf: samples.appending(path: "README.md"), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
        {
            if line.hasPrefix("```") {
                block = line.hasPrefix("```console") ? String(line) : nil
            } else if let block, line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2)), isEventual: block.hasSuffix("eventually")))
            } else if block != nil, !steps.isEmpty {
                steps[steps.count - 1].answer += line + "\n"
            }
        }
        return steps
    }

    @Test func theCommandsHaveTheirAnswers() async throws {
        let steps = try Self.steps()
        try #require(steps.count { !$0.answer.isEmpty } > 7)
        let directory = try HostDirectory()
        let port = try await Self.freePort()
        let text = try String(contentsOf: Self.samples.appending(path: ".env"), encoding: .utf8)
        try directory.write(text.replacing(":5001/", with: ":\(port)/"), to: ".env")
        try FileManager.default.copyItem(
            at: Self.samples.appending(path: "make-secrets"), to: URL(fileURLWithPath: directory.path + "/make-secrets")
        )
        let made = try Self.run(
            "sed -i s/:5001/:\(port)/ make-secrets; ./make-secrets", in: directory.path, variables: "")
        try #require(made.hasPrefix("wrote .secrets"), "\(made)")
        let configured = try JSONDecoder().decode(
            Configured.self, from: Data(contentsOf: Self.samples.appending(path: "functions.json")))
        let bundles = configured.bundles.map { bundle in
            #"{ "name": "\#(bundle.name)", "executable": "\#(BuiltProducts.path(bundle.product))" }"#
        }
        try directory.configure(
            bundles: bundles.joined(separator: ", "),
            ports: #""functions": \#(port), "firestore": 0, "database": 0, "auth": 0, "events": 0"#,
            project: "demo-samples")

        try await RunningHost.serving(in: directory) { host in
            // One shell for all: commands use what earlier ones have set.
            let state = directory.path + "/state"
            try directory.write("", to: "state")
            let ports = [":5001/": port, ":8080/": host.firestore.port, ":9099/": host.auth.port]
            for written in steps {
                var step = written
                for (usual, port) in ports {
                    step.command = step.command.replacing(usual, with: ":\(port)/")
                    step.answer = step.answer.replacing(usual, with: ":\(port)/")
                }
                let command = step.command
                if step.isEventual {
                    try await Bound.wait("the answer of \(command): \(host.process.errors.suffix(1000))") {
                        Self.matches(try Self.run(command, in: directory.path, variables: state), step.answer)
                    }
                } else {
                    let answer = try Self.run(command, in: directory.path, variables: state)
                    #expect(Self.matches(answer, step.answer), "\(command)\n\(answer)\ninstead of\n\(step.answer)")
                }
            }
        }
    }

    private struct Configured: Decodable {
        struct Bundle: Decodable {
            var name: String
            var product: String
        }
        var bundles: [Bundle]
    }

    /// Runs a command with the variables of earlier ones, and keeps its own.
    private static func run(_ command: String, in directory: String, variables: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        let kept = "declare -p F D SIGN_UP TOKEN BODY TIME CODE > \(variables) 2>/dev/null"
        let script = variables.isEmpty ? command : "source \(variables)\n\(command)\n\(kept)"
        process.arguments = ["-c", script]
        process.currentDirectoryURL = URL(fileURLWithPath: directory)
        let output = Pipe()
        process.standardOutput = output
        try process.start()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether the text has the parts of the pattern in order, from its beginning to its end.
    private static func matches(_ text: String, _ pattern: String) -> Bool {
        let parts = pattern.trimmingCharacters(in: .newlines).components(separatedBy: "…")
        var rest = Substring(text.trimmingCharacters(in: .newlines))
        for (index, part) in parts.enumerated() where !part.isEmpty {
            guard let found = rest.firstRange(of: part), index > 0 || found.lowerBound == rest.startIndex else {
                return false
            }
            rest = rest[found.upperBound...]
        }
        return parts.last == "" || rest.isEmpty
    }

    /// A port that the host may take: it must be known before the host starts, because params contain it.
    private static func freePort() async throws -> Int {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        try await listener.close()
        return port
    }
}
