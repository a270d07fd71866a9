import Foundation
import TestSupport
import Testing

/// Clients write, listen and leave by WebSocket while the host is killed in every round: nothing that was acknowledged is lost,
/// no update is there by half, listeners see what is stored, and what clients have registered for their disconnection happens
/// once.
///
/// `SOAK_ROUNDS` kills more often, `SOAK_SEED` repeats the moments as well as moments can be.
@Suite struct DatabaseConnectionsStormTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let rounds = environment["SOAK_ROUNDS"].flatMap { Int($0) } ?? 4
    private static let rules = """
        { "rules": { ".read": true, ".write": true, "board": { "notes": { ".indexOn": "n" } } } }
        """

    private struct Clients {
        var writers: [StormWriter]
        var listeners: [StormListener]
        var visitors: [StormVisitor]
        /// What was counted in the last check.
        var counts: [String: Int] = [:]

        var count: Int { writers.count + listeners.count + visitors.count }

        init(_ storm: ConnectionsStorm, seed: UInt64) {
            writers = (0..<4).map { StormWriter("w\($0)", storm, isOwner: $0 % 2 == 0, seed: seed &+ UInt64($0) + 1) }
            listeners = (0..<3).map { StormListener("l\($0)", storm, seed: seed &+ UInt64($0) + 101) }
            visitors = (0..<4).map { StormVisitor("v\($0)", storm, seed: seed &+ UInt64($0) + 201) }
        }
    }

    @Test(.endsHangs(afterWorking: 10 * rounds))
    func killsLoseNothingAndWhatWasRegisteredHappensOnce() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let seed = Self.environment["SOAK_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...9_999_999)
        print("the connections' seed is \(seed)")
        var random = SeededGenerator(seed: seed)
        let storm = ConnectionsStorm(try await .withDatabasePort(disconnectSeconds: 1, rules: Self.rules))
        var clients = Clients(storm, seed: seed)
        for round in 1...Self.rounds {
            let (all, momentsOfKills) = (clients, random)
            storm.begin()
            async let writers = storm.run(all.writers)
            async let listeners = storm.run(all.listeners)
            async let visitors = storm.run(all.visitors)
            random = try await Self.killAndReturn(storm, clients.count, momentsOfKills)
            storm.pause()
            (clients.writers, clients.listeners, clients.visitors) = try await (writers, listeners, visitors)
            try await Self.check(&clients, storm)
            // The next kill may come before the clients that stay away are ended.
            if Bool.random(using: &random) || round == Self.rounds { try await Self.waitForVisitors(&clients, storm) }
        }
        try await Self.checkOnceMore(&clients, storm)
        let checked = try await storm.host.current.command(["data", "check"])
        #expect(checked.status == 0, "\(checked.output)")
        try await storm.host.end()

        let done = ["done", "hits", "counter"].map { clients.counts[$0] ?? 0 }
        let stale = clients.writers.reduce(0) { $0 + $1.stale }
        let (returns, unchanged) = clients.listeners.reduce(into: (0, 0)) {
            $0 = ($0.0 + $1.returns, $0.1 + $1.unchanged)
        }
        let (visits, continued) = clients.visitors.reduce(into: (0, 0)) {
            $0 = ($0.0 + $1.visits, $0.1 + $1.returns)
        }
        print(
            "\(done[0]) updates, \(done[1]) increments, \(done[2]) transactions (\(stale) stale), \(returns) listeners "
                + "(\(unchanged) unchanged) and \(visits) visitors (\(continued) continued) through \(Self.rounds) kills"
        )
        #expect(done.allSatisfy { $0 > 0 } && returns > Self.rounds && visits > Self.rounds)
    }

    /// Kills the host at a random moment among the clients' acts, starts it again, and waits until all clients have acted.
    private static func killAndReturn(
        _ storm: ConnectionsStorm, _ clients: Int, _ random: SeededGenerator
    ) async throws -> SeededGenerator {
        var random = random
        try await storm.waitForActs(of: clients)
        try await Bound.pause(milliseconds: Int64.random(in: 0...500, using: &random))
        let diesAtStart = random.once(in: 4)
        let pause = Int64.random(in: 0...400, using: &random)
        try await storm.host.dieAndReturn {
            // Now and then it dies at its start too.
            guard diesAtStart, let process = try? HostProcess(storm.host.directory) else { return }
            try? await Bound.pause(milliseconds: pause)
            process.send(SIGKILL)
            _ = try? await process.end()
        }
        try await storm.waitForActs(of: clients)
        return random
    }

    private static func check(_ clients: inout Clients, _ storm: ConnectionsStorm) async throws {
        let tree = try await storm.read("")
        for path in ["done", "hits", "counter"] {
            let counts = clients.writers.compactMap { $0.counts[path] }
            let least = (clients.counts[path] ?? 0) + counts.reduce(0) { $0 + $1.acknowledged }
            let most = least + counts.reduce(0) { $0 + $1.unsure }
            let stored = tree[path]?.integer ?? 0
            #expect((least...most).contains(stored), "\(path)")
            clients.counts[path] = stored
        }
        for index in clients.writers.indices { clients.writers[index].check(tree) }
        for index in clients.visitors.indices { _ = clients.visitors[index].check(tree["gone"] ?? .null) }
        for index in clients.listeners.indices { try await clients.listeners[index].check() }
        let board = try await storm.read("board")
        #expect(board["notes"] == board["copies"], "an update is there by half")
        try await checkIndex(board["notes"] ?? .null, storm)
        try await checkHashes(board, storm)
    }

    /// A query by the index finds what the notes have.
    private static func checkIndex(_ notes: JSON, _ storm: ConnectionsStorm) async throws {
        guard case .object(let members) = notes else { return }
        for range in [0...499, 250...749, 500...2_000_000] {
            let found = try await storm.read(
                "board/notes", "orderBy=%22n%22&startAt=\(range.lowerBound)&endAt=\(range.upperBound)&format=export")
            let expected = members.filter { range.contains($0.value["n"]?.integer ?? -1) }
            #expect(found == .object(expected), "the index finds other notes in \(range)")
        }
    }

    /// The host compares hashes: a listener that has what is stored is sent nothing, and another one is sent all.
    private static func checkHashes(_ board: JSON, _ storm: ConnectionsStorm) async throws {
        let query = (json: #"{"i":"n","l":8,"vf":"r"}"#, tag: 1)
        let window = StormListener.window(of: board["notes"] ?? .null)
        let socket = try #require(try await storm.connect())
        #expect(try await socket.listen(to: "board", knowing: board).isOK)
        #expect(try await socket.listen(to: "board/notes", query: query, knowing: window).isOK)
        #expect(socket.view()?.pushes == 0 && socket.view(tag: 1)?.pushes == 0, "a hash differs")
        await socket.drop()

        let other = try #require(try await storm.connect())
        #expect(try await other.listen(to: "board", knowing: window).isOK)
        #expect(try await other.listen(to: "board/notes", query: query, knowing: board).isOK)
        #expect(other.view()?.value == board && other.view(tag: 1)?.value == window)
        await other.drop()
    }

    /// Waits until all that was registered by clients that have left has happened.
    private static func waitForVisitors(_ clients: inout Clients, _ storm: ConnectionsStorm) async throws {
        var visitors = clients.visitors
        try await Bound.wait("what visitors have registered happens") {
            let gone = try await storm.read("gone")
            var isDone = true
            for index in visitors.indices { isDone = visitors[index].check(gone) && isDone }
            return isDone
        }
        clients.visitors = visitors
    }

    /// After another kill all is as it was, and what was done for those that have left isn't done twice.
    private static func checkOnceMore(_ clients: inout Clients, _ storm: ConnectionsStorm) async throws {
        for index in clients.visitors.indices { try await clients.visitors[index].leave() }
        try await waitForVisitors(&clients, storm)
        var before = try await storm.read("")
        let last = try #require(try await storm.connect())
        #expect(try await last.request("o", #"{"p":"/last","d":{".sv":{"increment":1}}}"#).isOK)
        try await storm.host.dieAndReturn {}
        try await Bound.wait("the last client is ended") { try await storm.read("last") != .null }
        before.set("last", to: .integer(1))
        #expect(try await storm.read("") == before)
    }
}
