import FunctionManifest
import WorkerProtocol
@testable import Deployments
import Foundation
import TestSupport
import Testing

@Suite struct BundleInspectorTests {
    /// A bundle that is a shell script.
    private func inspect(_ script: String, timeout: Duration = .seconds(10)) async throws -> String {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("bundle").path
        try ExecutableScript.make(script, at: file)
        do {
            let manifest = try await BundleInspector(timeout: timeout).manifest(of: file, environment: [:])
            return manifest.functions.map(\.name).joined(separator: ",")
        } catch let error as BundleError {
            return error.reason
        }
    }

    private static let function = """
        {"name":"hello","regions":["us-central1"],"memoryMiB":256,"timeoutSeconds":60,"cpu":1,"concurrency":80,\
        "minInstances":0,"maxInstances":100,"labels":{},"secrets":[],"rateLimits":[],"ingress":"ALLOW_ALL","invoker":["public"],\
        "isTransactional":false,"trigger":{"http":{"_0":{"cors":{"off":{}}}}}}
        """

    @Test func theManifestComesOverTheLinkAndNotFromTheOutput() async throws {
        let manifest =
            "{\"protocolVersion\":\(Frame.protocolVersion),\"params\":[],\"functions\":[\(Self.function)]}"
        #expect(try await inspect("echo starting up; echo '\(manifest)' >&3; echo bye >&2") == "hello")
    }

    @Test(arguments: [
        (
            "echo garbage",
            "it wrote no manifest; it must be an executable whose @main is a FunctionBundle. It printed: «garbage»"
        ),
        ("echo garbage >&3", "it wrote an invalid manifest: «garbage»"),
        ("exit 3", "it ended with exit status 3 instead of writing a manifest. It printed nothing."),
        ("kill -9 $$", "it ended with signal 9 instead of writing a manifest. It printed nothing."),
        ("echo waiting; kill -9 $$", "it ended with signal 9 instead of writing a manifest. It printed: «waiting»"),
        ("echo '{\"protocolVersion\":99,\"functions\":[]}' >&3", "it uses version 99 of the worker protocol"),
    ])
    func anExecutableThatIsNotABundleIsReported(script: String, expected: String) async throws {
        #expect(try await inspect(script).hasPrefix(expected))
    }

    @Test func theErrorNamesAnInvalidFunction() async throws {
        let bad = Self.function.replacingOccurrences(of: "\"memoryMiB\":256", with: "\"memoryMiB\":300")
        let reason = try await inspect(
            "echo '{\"protocolVersion\":\(Frame.protocolVersion),\"params\":[],\"functions\":[\(bad)]}' >&3")
        #expect(reason.hasPrefix("function \"hello\": memory is 300 MiB"))
    }

    @Test func aHangingBundleIsKilled() async throws {
        #expect(try await inspect("sleep 1000", timeout: .milliseconds(200)).contains("was killed. It printed"))
    }

    @Test func endlessOutputIsBounded() async throws {
        let reason = try await inspect("yes", timeout: .milliseconds(300))
        #expect(reason.contains("was killed"))
        #expect(reason.utf8.count < 2000)
    }

    @Test func aMissingExecutableIsReported() async throws {
        await #expect { try await BundleInspector().manifest(of: "/nowhere/bundle", environment: [:]) } throws: {
            "\($0)"
                == "the bundle /nowhere/bundle can't be served: it can't be started: No such file or directory"
        }
    }

    /// The reason has no path: of a deployment it would be that of a copy, which is gone.
    @Test(arguments: [
        ("/nowhere/interpreter", "No such file or directory: the loader or interpreter that it names isn't"),
        ("", "Exec format error: it isn't a program for this machine"),
    ])
    func anExecutableOfAnotherSystemIsReported(interpreter: String, expected: String) async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("bundle")
        try ExecutableScript.make("exit 0", at: file, for: interpreter)
        let error = await #expect(throws: BundleError.self) {
            try await BundleInspector().manifest(of: file, environment: [:])
        }
        #expect(error?.reason.hasPrefix("it can't be started: \(expected)") == true, "\(error?.reason ?? "")")
    }
}
