import Foundation
import NIOPosix
import TestSupport
import Testing

/// firebase-admin's own task queue client against the port of events. `.ci/oracles` installs it.
@Suite(.endsHangs) struct AdminLibraryTests {
    private static let oracles = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent(".build-oracles").path

    private static let python = oracles + "/bin/python"

    private static var isInstalled: Bool {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: oracles + "/lib")) ?? []
        return versions.contains {
            FileManager.default.fileExists(atPath: "\(oracles)/lib/\($0)/site-packages/firebase_admin/functions.py")
        }
    }

    private static let script = """
        import sys
        import firebase_admin
        from firebase_admin import exceptions, functions
        firebase_admin.initialize_app(options={"projectId": "demo-shop"})
        queue = functions.task_queue("work")
        plain = queue.enqueue({"data": {"does": "nothing"}})
        later = functions.TaskOptions(task_id="named-1", schedule_delay_seconds=3600, dispatch_deadline_seconds=30,
                                      headers={"X-Fixture": "1"})
        print(plain, queue.enqueue({"data": {"does": "nothing"}}, later))
        try:
            queue.enqueue({"data": {"does": "nothing"}}, later)
        except exceptions.AlreadyExistsError as error:
            print("taken", error.http_response.status_code)
        try:
            functions.task_queue("nothing").enqueue({"data": 1})
        except exceptions.NotFoundError as error:
            print(error)
        queue.delete("named-1")
        try:
            queue.delete("named-1")
        except exceptions.NotFoundError:
            print("gone")
        """

    @Test(.enabled(if: isInstalled, "firebase-admin is not installed; run .ci/oracles"))
    func tasksAreEnqueuedAndDeleted() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.command(["pause", "work"]).status == 0)
            let output = try await Self.run(
                Self.script, environment: ["CLOUD_TASKS_EMULATOR_HOST": "127.0.0.1:\(host.events.port)"], in: host)
            let lines = output.split(separator: "\n").map(String.init)
            try #require(lines.count == 4, "\(output)")
            #expect(lines[0].hasSuffix(" named-1"))
            #expect(lines[1] == "taken 409")
            #expect(lines[2].hasPrefix("there is no task queue nothing"))
            #expect(lines[3] == "gone")
            let listed = try await host.command(["deliveries", "list", "--json"]).json?["deliveries"]?.list ?? []
            let event = try #require(listed.first?["event"]?.text)
            #expect(listed.count == 1 && lines[0].hasPrefix(event))
            #expect(try await host.command(["resume", "work"]).status == 0)
            try await Bound.wait("the task is done") {
                try await host.command(["deliveries", "list"]).output == "there are no deliveries\n"
            }
        }
    }

    private static func run(
        _ script: String, environment: [String: String], in host: RunningHost
    ) async throws -> String {
        // Waiting blocks, which tasks must not.
        try await NIOThreadPool.singleton.runIfActive {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: python)
            process.arguments = ["-c", script]
            process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
            let file = host.directory.path + "/python.out"
            try Data().write(to: URL(fileURLWithPath: file))
            let handle = try #require(FileHandle(forWritingAtPath: file))
            process.standardOutput = handle
            process.standardError = handle
            try process.start()
            process.waitUntilExit()
            return String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
        }
    }
}
