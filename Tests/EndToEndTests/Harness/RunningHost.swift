import Foundation
import Testing

/// A host that serves one test on ports of its own.
struct RunningHost: Sendable {
    let directory: HostDirectory
    let process: HostProcess
    let functions: HTTPClient
    let firestore: HTTPClient
    let database: HTTPClient
    let auth: HTTPClient
    let events: HTTPClient

    /// Starts a host in the directory and returns once it serves.
    static func start(
        in directory: HostDirectory, arguments: [String] = [], path: String? = nil, home: String? = nil,
        ignoresHangUp: Bool = false, openFiles: Int? = nil
    ) async throws -> RunningHost {
        let process = try HostProcess(
            directory, arguments: arguments, path: path, home: home, ignoresHangUp: ignoresHangUp, openFiles: openFiles)
        try await Bound.wait("the host serves") {
            guard process.isRunning else {
                throw Bound.Exceeded(description: "the host ended at its start: \(process.errors)")
            }
            return process.port("events") != nil
        }
        func client(_ name: String) throws -> HTTPClient { HTTPClient(port: try #require(process.port(name))) }
        return try RunningHost(
            directory: directory, process: process, functions: client("functions"), firestore: client("firestore"),
            database: client("database"), auth: client("auth"), events: client("events"))
    }

    /// Runs a test against a host of its own and ends the host and its workers afterwards.
    static func serving(
        _ bundles: [HostDirectory.Bundle] = [.fixture], trustedProxies: String = "", extra: String = "",
        _ body: (RunningHost) async throws -> Void
    ) async throws {
        let directory = try HostDirectory()
        try directory.configure(bundles, trustedProxies: trustedProxies, extra: extra)
        try await serving(in: directory, body)
    }

    /// Runs a test against a host in a prepared directory.
    static func serving(
        in directory: HostDirectory, arguments: [String] = [], path: String? = nil,
        _ body: (RunningHost) async throws -> Void
    ) async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let host = try await start(in: directory, arguments: arguments, path: path)
        do {
            try await body(host)
        } catch {
            print("the host's log:\n\(host.process.errors.suffix(4000))")
            try await host.kill()
            throw error
        }
        try await host.kill()
    }

    /// Kills the host and waits until its workers have ended too.
    func kill() async throws {
        process.send(SIGKILL)
        try await process.end()
        try await Bound.wait("the killed host's workers are gone") { directory.workers.isEmpty }
    }

    /// Calls a function of the default region.
    func call(
        _ name: String, _ data: String, region: String = "us-central1", headers: [String: String] = [:]
    ) async throws -> HTTPAnswer {
        try await functions.send(
            "POST", "/demo-shop/\(region)/\(name)",
            headers: ["Content-Type": "application/json"].merging(headers) { _, new in new }, #"{"data":\#(data)}"#)
    }

    /// Checks that the host and a function still respond.
    func expectEcho(_ text: String = "still here") async throws {
        let answer = try await call("echo", "\"\(text)\"", region: "asia-northeast1")
        #expect(answer.text == #"{"result":"\#(text)"}"#)
    }
}

extension HostProcess {
    /// The port of one of the host's servers, from the host's output at its start; nil until it is printed.
    func port(_ name: String) -> Int? {
        for line in output.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 2, words[0] == name else { continue }
            return words[1].split(separator: ":").last.flatMap { Int($0) }
        }
        return nil
    }
}
