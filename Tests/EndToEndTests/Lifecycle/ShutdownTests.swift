import Foundation
import TestSupport
import Testing

/// How a host ends, and what ends with it.
@Suite(.endsHangs) struct ShutdownTests {
    /// Whether a host that these tests start ignores SIGHUP as they do.
    private static var ignoresHangUp: Bool {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") }
        let mask = line?.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) } ?? 0
        return mask & (1 << UInt64(SIGHUP - 1)) != 0
    }

    @Test(arguments: ignoresHangUp ? [SIGTERM, SIGINT] : [SIGTERM, SIGINT, SIGHUP])
    func workUnderWayIsFinishedAndAnswered(signal: Int32) async throws {
        try await RunningHost.serving { host in
            try await host.expectEcho()
            let idle = try await RawConnection.open(port: host.functions.port)
            var running = try await host.functions.open(
                "POST", "/demo-shop/us-central1/quietStream", headers: StreamingTests.stream,
                bytes: Array(#"{"data":1500}"#.utf8))
            host.process.send(signal)
            try await idle.waitForEnd()
            await #expect(throws: (any Error).self) { try await host.call("nothing", "null") }
            let answer = try await running.read(until: "result")
            #expect(answer.contains(#"{"result":"done"}"#))
            #expect(try await host.process.end() == 0)
            #expect(host.directory.workers.isEmpty)
        }
    }

    @Test func aHostThatWasStartedToIgnoreHangUpsGoesOn() async throws {
        let directory = try HostDirectory()
        try directory.configure([.fixture])
        await HostSlots.take()
        defer { HostSlots.release() }
        let host = try await RunningHost.start(in: directory, ignoresHangUp: true)
        var running = try await host.functions.open(
            "POST", "/demo-shop/us-central1/quietStream", headers: StreamingTests.stream,
            bytes: Array(#"{"data":1500}"#.utf8))
        host.process.send(SIGHUP)
        #expect(try await running.read(until: "result").contains(#"{"result":"done"}"#))
        // A host that shuts down would have ended with its last call.
        try await host.expectEcho()
        host.process.send(SIGTERM)
        #expect(try await host.process.end() == 0)
    }

    @Test func aRequestThatArrivesDuringTheEndIsToldSo() async throws {
        let patient = #""functions": { "slow": { "timeout": 3600 } }, "limits": { "shutdownGrace": 3600 }"#
        try await RunningHost.serving([.fixture], extra: patient) { host in
            let connection = try await RawConnection.open(port: host.functions.port)
            try await connection.send(
                "POST /demo-shop/us-central1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + "Content-Length: 13\r\n\r\n{\"data\":")
            async let running = host.call("slow", "6000")
            let idle = try await RawConnection.open(port: host.functions.port)
            try await Bound.wait("the slow call runs") { host.directory.workers.count == 1 }
            host.process.send(SIGTERM)
            try await idle.waitForEnd()
            try await connection.send("null}")
            try await connection.waitForEnd()
            #expect(connection.text.hasPrefix("HTTP/1.1 503"))
            #expect(connection.text.contains("UNAVAILABLE"))
            #expect(try await running.status == 200)
            #expect(try await host.process.end() == 0)
        }
    }

    @Test func workThatOutlastsTheGraceIsTold() async throws {
        let patient = #""functions": { "slow": { "timeout": 3600 } }, "limits": { "shutdownGrace": 1 }"#
        try await RunningHost.serving([.fixture], extra: patient) { host in
            async let running = host.call("slow", "3600000")
            try await Bound.wait("the slow call runs") { host.directory.workers.count == 1 }
            try await host.expectEcho()
            host.process.send(SIGTERM)
            let answer = try await running
            #expect(answer.status == 503)
            #expect(answer.json["error"]?["status"] == .string("UNAVAILABLE"))
            #expect(try await host.process.end() == 0)
            #expect(host.directory.workers.isEmpty)
        }
    }

    @Test func aRequestThatNeverArrivesWholeDoesNotHoldUpTheEnd() async throws {
        let patient = #""limits": { "shutdownGrace": 1, "transferSeconds": 3600 }"#
        try await RunningHost.serving([], extra: patient) { host in
            for client in [host.functions, host.firestore, host.database, host.auth, host.events] {
                let slow = try await RawConnection.open(port: client.port)
                try await slow.send("POST /v1/slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
                // By now the head has arrived, too.
                _ = try await client.send("GET", "/")
            }
            host.process.send(SIGTERM)
            #expect(try await host.process.end() == 0)
        }
    }

    @Test func aKilledHostTakesItsWorkersWithIt() async throws {
        // None may end for another reason.
        let patient = """
            "functions": { "spins": { "timeout": 3600 }, "blocks": { "timeout": 3600 }, "slow": { "timeout": 3600 } }
            """
        try await RunningHost.serving(extra: patient) { host in
            try await host.expectEcho()
            for (name, data) in [("spins", "true"), ("blocks", "true"), ("slow", "3600000")] {
                let call = try await host.functions.open(
                    "POST", "/demo-shop/us-central1/\(name)", headers: StreamingTests.stream,
                    bytes: Array(#"{"data":\#(data)}"#.utf8))
                #expect(call.status == 200)
            }
            try await Bound.wait("all workers run") { host.directory.workers.count == 4 }
            host.process.send(SIGKILL)
            try await host.process.end()
            try await Bound.wait("no worker is left") { host.directory.workers.isEmpty }
        }
    }

    @Test func anEphemeralHostLeavesNoData() async throws {
        let directory = try HostDirectory()
        try directory.configure([.fixture])
        let host = try await RunningHost.start(in: directory, arguments: ["--ephemeral"])
        try await host.expectEcho()
        #expect(!FileManager.default.fileExists(atPath: directory.data))
        host.process.send(SIGTERM)
        #expect(try await host.process.end() == 0)
        #expect(directory.workers.isEmpty)
    }

    @Test func anEphemeralHostThatIsStoppedDuringItsStartLeavesNoData() async throws {
        let directory = try HostDirectory()
        try directory.configure([])
        let temporary = directory.path + "/temporary"
        try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: false)
        // An export that is never written: the start waits for it.
        let export = directory.path + "/seed.jsonl"
        try #require(mkfifo(export, 0o600) == 0)
        let writer = open(export, O_RDWR)
        defer { close(writer) }
        await HostSlots.take()
        defer { HostSlots.release() }
        let process = try HostProcess(
            directory, arguments: ["--ephemeral", "--import", export], temporary: temporary)
        defer { process.send(SIGKILL) }
        func left() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: temporary)) ?? [] }
        try await Bound.wait("the host has made its data directory") { !left().isEmpty }
        process.send(SIGTERM)
        #expect(try await process.end() == 1)
        #expect(left().isEmpty, "\(left())")
    }
}
