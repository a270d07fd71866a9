import Foundation
import NIOCore

/// Measures gets of a leaf over REST, beside a warm callable on the same host.
struct RealtimeGetBenchmark: Benchmark {
    static let name = "database"
    private static let clients = 16
    private static let leaves = 1000
    private static let body = """
        {"data":{"id":"p-18273","name":"Espresso cup","quantity":2,"price":1280,"tags":["new","sale"],"gift":false}}
        """
    /// Users who are signed in may read scores, and all clients what is open.
    private static let rules = #"{"rules": {"scores": {".read": "auth != null"}, "open": {".read": true}}}"#

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        let file = directory.appendingPathComponent("database.rules.json")
        try Data(Self.rules.utf8).write(to: file)
        return try await HostProcess.with(
            ["FixtureFunctions"], settings: #""databaseRules": "\#(file.path)""#, in: directory
        ) { host in try await measure(host) }
    }

    private func measure(_ host: HostProcess) async throws -> Section {
        let port = host.ports.database
        guard let user = try await host.signUp(1).first else { throw LoadError("the sign-up returned no user") }
        let values = (0..<Self.leaves).map { #""l\#($0)":\#($0)"# }.joined(separator: ",")
        let owner = RealtimeREST(port: port, token: "owner")
        for path in ["scores", "open"] { try await owner.update(path, 1) { _ in "{\(values)}" } }
        var section = Section(
            "Realtime Database: get of a leaf over REST, \(Self.clients) clients",
            notes: [
                "reference: a warm callable that echoes an object of \(Self.body.utf8.count) bytes, host and worker "
                    + "together"
            ])
        for token in [user.idToken, nil] {
            let rest = RealtimeREST(port: port)
            let path = token == nil ? "open" : "scores"
            let gets = (0..<Self.leaves).map { rest.get("\(path)/l\($0)", idToken: token) }
            let call = Requests(port: host.ports.functions, token: token).post(HostProcess.path("echo"), Self.body)
            var (ours, theirs) = (LoadReport(), LoadReport())
            for _ in 0..<pace.rounds {
                ours.add(try await self.gets(gets, host))
                theirs.add(try await calls(call, host))
            }
            section.add(
                token == nil ? "without a token" : "with an ID token", ours, beside: theirs, cpu: .ratioAtMost(1.3))
        }
        return section
    }

    private func gets(_ requests: [ByteBuffer], _ host: HostProcess) async throws -> LoadReport {
        let callers = (0..<Self.clients).map { client in
            RepeatingCaller(requests, from: client * Self.leaves / Self.clients) { answer in
                answer.status == 200 && Int(String(buffer: answer.body)) != nil
            }
        }
        return try await Load.run(callers, to: host.ports.database, for: pace.length, of: host.child.tree)
    }

    private func calls(_ request: ByteBuffer, _ host: HostProcess) async throws -> LoadReport {
        let caller = RepeatingCaller([request]) { answer in
            answer.status == 200 && answer.body.readableBytesView.starts(with: #"{"result":{"#.utf8)
        }
        return try await Load.run(
            Array(repeating: caller, count: Self.clients), to: host.ports.functions, for: pace.length,
            of: host.child.tree)
    }
}
