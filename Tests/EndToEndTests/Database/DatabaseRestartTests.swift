import Foundation
import TestSupport
import Testing

/// Clients of the Realtime Database whose host is killed and started again.
@Suite(.endsHangs) struct DatabaseRestartTests {
    private static let increment = #"{".sv":{"increment":1}}"#

    private static func serving(
        disconnectSeconds: Int, _ body: (MortalHost) async throws -> Void
    ) async throws {
        try await serving({ try await MortalHost.withDatabasePort(disconnectSeconds: disconnectSeconds) }, body)
    }

    private static func serving(
        _ start: () async throws -> MortalHost, _ body: (MortalHost) async throws -> Void
    ) async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let host = try await start()
        do { try await body(host) } catch {
            print("the host's log:\n\(host.current.process.errors.suffix(4000))")
            try await host.end()
            throw error
        }
        try await host.end()
    }

    /// Connects, and registers a write for the end.
    private static func register(
        _ path: String, _ json: String, at host: MortalHost, continuing former: DatabaseSocket? = nil
    ) async throws -> DatabaseSocket {
        let socket = try await DatabaseSocket.open(
            port: host.current.database.port, continuing: former?.session)
        let answer = try await socket.request("o", #"{"p":"/\#(path)","d":\#(json)}"#)
        #expect(answer.isOK, "\(answer)")
        return socket
    }

    private static func read(_ path: String, at host: MortalHost) async throws -> String {
        try await host.current.database.send(
            "GET", "/\(path).json", headers: ["Authorization": "Bearer owner"]
        ).text
    }

    @Test func aClientThatReturnsIsEndedAtOnceAndAnotherOneWhenItsTimeIsOver() async throws {
        try await Self.serving(disconnectSeconds: 3600) { host in
            let ada = try await Self.register("ended/ada", Self.increment, at: host)
            _ = try await Self.register("ended/ken", Self.increment, at: host)
            try await host.dieAndReturn()
            #expect(try await Self.read("ended", at: host) == "null")

            let again = try await Self.register("ended/again", Self.increment, at: host, continuing: ada)
            #expect(try await Self.read("ended", at: host) == #"{"ada":1}"#)
            #expect(again.session != ada.session)
            let third = try await Self.register("ended/third", Self.increment, at: host, continuing: ada)
            #expect(try await Self.read("ended", at: host) == #"{"ada":1}"#)

            // The host is gone once more, and nothing waits this time.
            try host.directory.configureDatabase(port: host.current.database.port, disconnectSeconds: 0)
            try await host.dieAndReturn()
            let all = #"{"ada":1,"again":1,"ken":1,"third":1}"#
            try await Bound.wait("all clients are ended") {
                let ended = try await Self.read("ended", at: host)
                return ended.filter { $0 == "1" }.count == 4 || ended.contains("2")
            }
            #expect(try await Self.read("ended", at: host) == all)
            try await host.dieAndReturn()
            _ = try await Self.register("ended/ken", Self.increment, at: host, continuing: third)
            #expect(try await Self.read("ended", at: host) == all)
        }
    }

    @Test func aClientThatReturnsStaysOnlineWhenOthersAreEnded() async throws {
        try await Self.serving(disconnectSeconds: 1) { host in
            let names = (0..<8).map { "n\($0)" }
            var sockets: [DatabaseSocket] = []
            for name in names { sockets.append(try await Self.register("status/\(name)", #""gone""#, at: host)) }
            try await host.dieAndReturn()
            for (number, name) in names.enumerated() where number % 2 == 0 {
                sockets[number] = try await Self.register(
                    "online/\(name)", Self.increment, at: host, continuing: sockets[number])
                #expect(try await sockets[number].request("p", #"{"p":"/status/\#(name)","d":"here"}"#).isOK)
            }
            try await Bound.wait("those that stay away are ended") {
                let status = try JSON(parsing: try await Self.read("status", at: host))
                return names.enumerated().allSatisfy { $0 % 2 == 0 || status[$1] == .string("gone") }
            }
            let status = names.enumerated().map { number, name in
                #""\#(name)":"\#(number % 2 == 0 ? "here" : "gone")""#
            }
            #expect(try await Self.read("status", at: host) == "{" + status.joined(separator: ",") + "}")
            #expect(try await Self.read("online", at: host) == "null")
        }
    }

    /// The project's rules don't name the index. To build it again would take a while, and without it the query looks at too
    /// much.
    @Test func anIndexOfUploadedRulesIsReadyAfterARestart() async throws {
        try await Self.serving({
            let directory = try HostDirectory()
            try directory.write(#"{"rules": {".read": false}}"#, to: "database.rules.json")
            try directory.configure(
                bundles: "",
                extra: #""databaseRules": "database.rules.json", "database": { "unindexedNodes": 1000 }"#)
            return try await MortalHost(in: directory)
        }) { host in
            func send(_ method: String, _ place: String, _ body: String = "") async throws -> HTTPAnswer {
                try await host.current.database.send(
                    method, place, headers: ["Authorization": "Bearer owner"], body)
            }
            let query = "/scores.json?orderBy=%22n%22&limitToFirst=1"
            let scores = (0..<50_000).map { #""k\#($0)":{"n":\#($0)}"# }.joined(separator: ",")
            #expect(try await send("PUT", "/scores.json?print=silent", "{\(scores)}").status == 204)
            let rules = #"{"rules": {"scores": {".indexOn": "n"}}}"#
            #expect(try await send("PUT", "/.settings/rules.json", rules).status == 200)
            try await Bound.wait("the index is built") { try await send("GET", query).status == 200 }
            try await host.dieAndReturn()
            #expect(try await send("GET", query).text == #"{"k0":{"n":0}}"#)
        }
    }

    /// firebase-admin, unmodified. It waits for three seconds after a stream has ended, and connects once: it is suspended until
    /// the host is back, so that it finds it however slow the machine is.
    @Test(.enabled(if: ClientScript.isInstalled, "firebase-admin is not installed: .ci/oracles"))
    func theServerLibrarysListenerOutlivesTheHost() async throws {
        try await Self.serving(disconnectSeconds: 60) { host in
            let script = try ClientScript(
                "admin_database_listener.py", ["\(host.current.database.port)", "demo-shop"],
                in: host.directory.path)
            defer { script.kill() }
            func hears(_ event: String) async throws {
                try await Bound.wait("the listener hears \(event); it has heard \(script.lines)") {
                    if !script.isRunning { throw Bound.Exceeded(description: "the script ended: \(script.lines)") }
                    return script.lines.last == event
                }
            }
            func write(_ path: String, _ json: String) async throws {
                let answer = try await host.current.database.send(
                    "PUT", "/room/\(path).json", headers: ["Authorization": "Bearer owner"], json)
                #expect(answer.status == 200, "\(answer.text)")
            }
            try await hears("put / null")
            try await write("topic", "1")
            try await hears("put /topic 1")
            for round in 2..<4 {
                script.suspend()
                try await host.dieAndReturn()
                try await write("missed", "\(round)")
                script.resume()
                try await hears(#"put / {"missed": \#(round), "topic": \#(round - 1)}"#)
                try await write("topic", "\(round)")
                try await hears("put /topic \(round)")
            }
        }
    }
}
