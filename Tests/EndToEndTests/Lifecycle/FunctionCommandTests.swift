import Foundation
import NIOPosix
import Synchronization
import TestSupport
import Testing

/// `functions-host list`, `call` and `logs` against the real host.
@Suite(.endsHangs) struct FunctionCommandTests {
    @Test func functionsAreCalledListedAndTheirLogsRead() async throws {
        try await RunningHost.serving { host in
            let call = try await host.command(["call", "whoami", "--as", "ada", "--claims", #"{"role":"admin"}"#])
            #expect(call.status == 0, "\(call.errors)")
            #expect(call.output.contains(#""uid":"ada""#) && call.output.contains(#""role":"admin""#))
            #expect(try await host.command(["call", "countdown", "2", "--stream"]).output == "2\n1\n\"liftoff\"\n")
            #expect(try await host.command(["call", "countdown", "2"]).output == "\"liftoff\"\n")
            let paid = #"{"requestID":"r","milliseconds":0,"exits":false}"#
            let first = try await host.command(["call", "pays", paid])
            #expect(first.status == 0, "\(first.errors)")
            #expect(try await host.command(["call", "pays", paid]).output == first.output)
            let hanging = try await host.command(["call", "hangs"])
            #expect(hanging.status == 1)
            #expect(hanging.errors == "functions-host: DEADLINE_EXCEEDED: DEADLINE_EXCEEDED\n")
            let refused = try await host.command(["call", "typed", "7", "--json"])
            #expect(refused.status == 1 && refused.errors.isEmpty, "\(refused)")
            #expect(refused.json?["error"]?["status"]?.text == "INVALID_ARGUMENT", "\(refused)")
            let unknown = try await host.command(["call", "whoam"])
            #expect(unknown.errors.contains("there is no function whoam; did you mean whoami (us-central1)?"))
            #expect(try await host.command(["call", "created"]).errors.contains("isn't a callable function"))
            #expect(try await host.command(["call", "whoami", "{"]).errors.contains("the data isn't JSON"))

            let listing = try await host.command(["list", "--json"])
            let functions = listing.json?["functions"]?.list ?? []
            let pays = functions.first { $0["name"]?.text == "pays" }
            #expect(pays?["calls"]?.integer == 2 && pays?["failures"]?.integer == 0)
            #expect(functions.first { $0["name"]?.text == "hangs" }?["failures"]?.integer == 1)
            #expect(try await host.command(["list"]).output.hasPrefix("FUNCTION"))
            let metrics = try await host.command(["metrics"])
            #expect(metrics.output.contains(#"functions_calls_total{function="pays",status="OK"} 2"#))

            // Lines of calls are written some at a time.
            try await Bound.wait("the calls are logged") {
                try await host.command(["logs", "pays"]).output.split(separator: "\n").count == 2
            }
            try await Bound.wait("the timeout is logged") {
                let lines = try await host.command(["logs", "hangs", "--severity", "warning", "--since", "1h"])
                // Its 3 s, or more where the host notices them late.
                return lines.output.contains(/warning hangs: DEADLINE_EXCEEDED duration=([3-9]|[1-9][0-9])/)
            }
            let last = try await host.command(["logs", "whoami", "--json", "-n", "1"])
            #expect(last.json?["message"]?.text == "call" && last.json?["fields"]?["status"]?.text == "OK")
            #expect(last.json?["fields"]?["uid"]?.text == "ada")
            let execution = try #require(last.json?["execution"]?.text)
            #expect(try await host.command(["logs", "--execution", execution]).output.contains("OK"))
        }
    }

    @Test func callsAreNotLoggedIfTheyNeedNotBe() async throws {
        try await RunningHost.serving(extra: #""logs": { "calls": false }"#) { host in
            try await host.expectEcho()
            #expect(try await host.command(["list"]).status == 0)
            #expect(try await host.call("hangs", "null").status == 504)
            try await Bound.wait("the timeout is logged all the same") {
                try await host.command(["logs", "hangs"]).output.contains("hangs: DEADLINE_EXCEEDED")
            }
            #expect(try await host.command(["logs", "echo"]).output.isEmpty)
        }
    }

    @Test func whatIsFollowedComesThroughAPipeAtOnce() async throws {
        try await RunningHost.serving { host in
            let (process, pipe) = (Process(), Pipe())
            process.executableURL = URL(fileURLWithPath: BuiltProducts.host)
            process.arguments = ["logs", "whoami", "--follow", "--config", host.directory.configuration]
            process.standardOutput = pipe
            let output = Mutex("")
            pipe.fileHandleForReading.readabilityHandler = { file in
                let text = String(decoding: file.availableData, as: UTF8.self)
                output.withLock { $0 += text }
            }
            try process.start()
            defer {
                pipe.fileHandleForReading.readabilityHandler = nil
                process.terminate()
            }
            #expect(try await host.command(["call", "whoami", "--as", "ada"]).status == 0)
            try await Bound.wait("the line comes") { output.withLock { $0.contains("whoami: OK") } }
        }
    }

    @Test func aFollowedLogEndsWithItsReader() async throws {
        try await RunningHost.serving { host in
            let (process, pipe) = (Process(), Pipe())
            process.executableURL = URL(fileURLWithPath: BuiltProducts.host)
            process.arguments = ["logs", "--follow", "--config", host.directory.configuration]
            process.standardOutput = pipe
            try process.start()
            try pipe.fileHandleForReading.close()
            try await Bound.wait("the command ends") { process.hasEnded }
        }
    }

    @Test func aCommandWithoutStandardFilesDoesItsWork() async throws {
        try await RunningHost.serving { host in
            let configuration = host.directory.configuration
            let backup = host.directory.path + "/backup"
            let status = try await NIOThreadPool.singleton.runIfActive {
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/bin/sh")
                let command = #""$0" data backup "$1" --config "$2" <&- >&- 2>&-"#
                process.arguments = ["-c", command, BuiltProducts.host, backup, configuration]
                try process.start()
                process.waitUntilExit()
                return process.terminationStatus
            }
            #expect(status == 0)
            #expect(FileManager.default.fileExists(atPath: backup))
        }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "skipped: this system has no /dev/full"))
    func aResultThatCannotBeWrittenIsAFailure() async throws {
        try await RunningHost.serving { host in
            for arguments in [["list"], ["list", "--json"], ["metrics"], ["call", "echo", "1"], ["data", "check"]] {
                let run = try await DataCommandRun.run(arguments, in: host.directory, command: nil, to: "/dev/full")
                #expect(run.status == 1, "\(arguments)")
                #expect(run.errors == "functions-host: the output can't be written: No space left on device\n")
            }
        }
    }

    @Test func aFunctionsDetailsAreLoggedAtTheirLevelAndAsObjects() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.call("logsOrder", #""7""#).status == 200)
            try await Bound.wait("the call is logged") {
                try await host.command(["logs", "logsOrder"]).output.contains("logsOrder: OK")
            }
            #expect(try await !host.command(["logs", "logsOrder"]).output.contains("order="))
        }
        try await RunningHost.serving(extra: #""logs": { "level": "debug" }"#) { host in
            #expect(try await host.call("logsOrder", #""7""#).status == 200)
            try await Bound.wait("the line is logged") {
                let lines = try await host.command(["logs", "logsOrder", "--json", "--severity", "debug"]).output
                    .split(separator: "\n").compactMap { try? JSON(parsing: String($0)) }
                let order = lines.first { $0["message"]?.text == "order" }?["fields"]?["order"]
                return order?["id"]?.text == "7" && order?["items"]?[1]?.text == "b"
            }
            let text = try await host.command(["logs", "logsOrder"]).output
            #expect(text.contains(#"debug logsOrder: order"#) && text.contains(#"order={"id":"7","items":["a","b"]}"#))
        }
    }

    @Test func anUnknownFunctionsNeighbourIsNamed() async throws {
        try await RunningHost.serving { host in
            let answer = try await host.call("unlimitd", "1")
            #expect(answer.status == 404)
            #expect(answer.text.contains("did you mean unlimited (us-central1)?"))
            let elsewhere = try await host.call("echo", "1")
            #expect(elsewhere.text.contains("did you mean echo (asia-northeast1)?"))
        }
    }
}
