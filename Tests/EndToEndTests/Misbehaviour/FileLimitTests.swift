import Foundation
import TestSupport
import Testing

/// A system that lets the host have few files open.
@Suite(.endsHangs) struct FileLimitTests {
    @Test func clientsLeaveTheFilesThatWorkersNeed() async throws {
        let directory = try HostDirectory()
        try directory.configure([.fixture])
        await HostSlots.take()
        defer { HostSlots.release() }
        let host = try await RunningHost.start(in: directory, openFiles: 200)
        defer { host.process.send(SIGKILL) }
        let caller = try await RawConnection.open(port: host.functions.port)
        try await caller.send("GET /__/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try await caller.wait(for: "SERVING")
        var open: [RawConnection] = []
        for _ in 0..<200 { open.append(try await RawConnection.open(port: host.database.port)) }
        let others = open
        try await Bound.wait("a connection is refused") { others.contains { !$0.isOpen } }
        let call = #"{"data":"x"}"#
        try await caller.send(
            "POST /demo-shop/asia-northeast1/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(call.utf8.count)\r\n\r\n\(call)")
        try await caller.wait(for: #"{"result":"x"}"#)
        for connection in others { try? await connection.close() }
        host.process.send(SIGTERM)
        #expect(try await host.process.end() == 0)
    }

    /// It trapped, or waited for a file for ever.
    @Test func aHostWithTooFewFilesSaysSo() async throws {
        let directory = try HostDirectory()
        try directory.configure([.fixture])
        let host = try HostProcess(directory, openFiles: 32)
        defer { host.send(SIGKILL) }
        #expect(try await host.end() == 1)
        #expect(host.errors.contains("the system lets this process have 32 files open at once; 160 are needed"))
    }
}
