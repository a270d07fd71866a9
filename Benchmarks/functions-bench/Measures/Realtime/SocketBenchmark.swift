import Foundation

/// Measures what idle WebSockets with one listen each cost in memory.
struct SocketBenchmark: Benchmark {
    static let name = "database"
    /// What all sockets may take, and the host itself.
    private static let aim = (total: 200_000_000, sockets: 10_000, host: 50_000_000)

    /// A host serves 10,000 connections by default, and there are a few others.
    static let settings = #""limits": { "connections": 20000 }"#

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        let sockets = pace.count(Self.aim.sockets, quick: 1000)
        let each = (Self.aim.total - Self.aim.host) / Self.aim.sockets
        var section = Section(
            "Realtime Database: \(sockets) idle WebSockets with a listen each, to a path of its own",
            notes: [
                "the aim of each: \(Self.aim.sockets) in \(Quantity.bytes(Self.aim.total).text), of which the host "
                    + "without sockets has \(Quantity.bytes(Self.aim.host).text)"
            ])
        try await HostProcess.with([], settings: Self.settings, in: directory) { host in
            let rest = RealtimeREST(port: host.ports.database)
            try await rest.update("users", 1) { _ in
                let users = (0..<sockets).map { #""user-\#($0)":{"name":"User \#($0)","online":true}"# }
                return "{\(users.joined(separator: ","))}"
            }
            // What is allocated once isn't a socket's.
            try await SocketAudience.with(50, at: host.ports.database) { try await $0.listen { "users/user-\($0)" } }
            let before = try host.child.tree.residentBytes()
            try await SocketAudience.with(sockets, at: host.ports.database) { audience in
                let connected = try host.child.tree.residentBytes()
                try await audience.listen { "users/user-\($0)" }
                try await Task.sleep(for: .seconds(1))
                let listening = try host.child.tree.residentBytes()
                section.add(
                    Row(
                        "a socket with its listen: memory", .bytes(max(0, listening - before) / sockets),
                        aim: .atMost(.bytes(each))))
                section.add(Row("a socket without a listen: memory", .bytes(max(0, connected - before) / sockets)))
                section.add(
                    Row(
                        "the host with \(sockets) sockets: memory", .bytes(listening),
                        aim: .atMost(.bytes(Self.aim.total))))
                section.add(Row("the host before: memory", .bytes(before)))
                let cpu = try host.child.tree.rootCPUSeconds()
                try await Task.sleep(for: .seconds(3))
                section.add(
                    Row(
                        "CPU of a second while all are idle",
                        .milliseconds((try host.child.tree.rootCPUSeconds() - cpu) / 3)))
            }
        }
        return section
    }
}
