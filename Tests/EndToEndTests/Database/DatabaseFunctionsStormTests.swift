import Foundation
import Synchronization
import TestSupport
import Testing

/// Functions of the Realtime Database while the host and its workers are killed again and again: each trigger's effect is
/// there once, what counts in documents and in the tree is equal, and what clients registered for their end happens once.
///
/// `SOAK_SECONDS` makes the storm longer, `SOAK_SEED` repeats one.
@Suite struct DatabaseFunctionsStormTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["SOAK_SECONDS"].flatMap { Int($0) } ?? 6
    private static let owner = ["Authorization": "Bearer owner"]

    /// What clients have done.
    private struct Done: Sendable {
        /// Messages that must be there.
        var messages: Set<String> = []
        var likes: Set<String> = []
        /// Messages of clients that have disconnected, of which each must come.
        var farewells: Set<String> = []
        /// The host died before it had answered: they may come.
        var unsure: Set<String> = []
    }

    @Test(.endsHangs(afterWorking: seconds))
    func effectsAreThereOnceThroughKills() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let seed = Self.environment["SOAK_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...999_999)
        print("the database functions storm's seed is \(seed)")
        let host = try await MortalHost([.fixture], extra: #""database": { "disconnectSeconds": 1 }"#)
        do {
            let (kills, done) = try await storm(host, seed)
            _ = try await read("rooms/hall/messages", host) { $0.isSuperset(of: done.farewells) }
            var messages: Set<String> = []
            // The unacknowledged ones may still come.
            var counts: [Int?] = []
            try await Bound.wait("\(messages.count) messages are counted once, not as \(counts)") {
                try await host.settle()
                counts = [try await read("counts/hall", host).integer, try await number("rooms/hall", host)]
                messages = Set(try await read("rooms/hall/messages", host).keys)
                return counts == [messages.count, messages.count] || counts.contains { $0 ?? 0 > messages.count }
            }
            #expect(counts == [messages.count, messages.count])
            #expect(done.messages.union(done.farewells).isSubset(of: messages))
            #expect(messages.isSubset(of: done.messages.union(done.farewells).union(done.unsure)))
            var numbers: [Int] = []
            for like in done.likes { numbers.append(try #require(try await number("given/\(like)", host))) }
            #expect(numbers.sorted() == Array(1...done.likes.count))
            let likes = (try await read("given", host).integer, try await number("totals/given", host))
            #expect(likes == (done.likes.count, done.likes.count))
            let checked = try await host.current.command(["data", "check"])
            #expect(checked.status == 0, "\(checked.output)")
            print(
                "\(messages.count) messages, \(done.farewells.count) of them farewells, and \(done.likes.count) likes through \(kills) kills"
            )
            try await host.end()
        } catch {
            print("the host's log:\n\(host.current.process.errors.suffix(4000))")
            try await host.end()
            throw error
        }
    }

    private func storm(_ host: MortalHost, _ seed: UInt64) async throws -> (kills: Int, Done) {
        let isOver = Flag()
        let end = ContinuousClock.now + .seconds(Self.seconds)
        return try await withThrowingTaskGroup(of: Done.self) { group in
            for number in 0..<3 {
                group.addTask { try await write("w\(number)", host, until: isOver) }
                group.addTask { try await like("l\(number)", host, until: isOver) }
                group.addTask { try await visit("v\(number)", host, until: isOver) }
            }
            var random = SeededGenerator(seed: seed)
            var kills = 0
            while ContinuousClock.now < end || kills < 2 {
                try await Bound.pause(milliseconds: Int64.random(in: 100...1200, using: &random))
                if kills == 0 || Bool.random(using: &random) {
                    try await host.dieAndReturn()
                } else {
                    for worker in host.workers where Bool.random(using: &random) { kill(worker, SIGKILL) }
                }
                kills += 1
            }
            isOver.set()
            let done = try await group.reduce(into: Done()) { all, done in
                all.messages.formUnion(done.messages)
                all.likes.formUnion(done.likes)
                all.farewells.formUnion(done.farewells)
                all.unsure.formUnion(done.unsure)
            }
            return (kills, done)
        }
    }

    // MARK: Clients

    private func write(_ name: String, _ host: MortalHost, until isOver: Flag) async throws -> Done {
        var done = Done()
        while !isOver.isSet || done.messages.isEmpty {
            let message = "\(name)m\(done.messages.count)"
            try await insist(host) {
                try await $0.database.send(
                    "PUT", "/rooms/hall/messages/\(message).json", headers: Self.owner, "\"hello\"")
            }
            done.messages.insert(message)
        }
        return done
    }

    private func like(_ name: String, _ host: MortalHost, until isOver: Flag) async throws -> Done {
        var done = Done()
        while !isOver.isSet || done.likes.isEmpty {
            let like = "\(name)n\(done.likes.count)"
            try await insist(host) { try await $0.call("likeOnce", "\"\(like)\"") }
            done.likes.insert(like)
        }
        return done
    }

    /// Repeats a request until it is acknowledged. One that wasn't may have had its effect.
    private func insist(_ host: MortalHost, _ request: (RunningHost) async throws -> HTTPAnswer) async throws {
        while try await host.persist(request).status != 200 { try await Bound.pause(milliseconds: 20) }
    }

    /// Connects, registers a message for its end, and leaves or is left.
    private func visit(_ name: String, _ host: MortalHost, until isOver: Flag) async throws -> Done {
        var done = Done()
        var random = SeededGenerator(seed: UInt64(name.utf8.reduce(0) { Int($0) * 31 + Int($1) }))
        var number = 0
        while !isOver.isSet || done.farewells.isEmpty {
            try Task.checkCancellation()
            guard let socket = try? await DatabaseSocket.open(port: host.current.database.port) else {
                try await Bound.pause(milliseconds: 20)
                continue
            }
            number += 1
            let message = "\(name)m\(number)"
            let body = #"{"p":"/rooms/hall/messages/\#(message)","d":"bye"}"#
            if let answer = try? await socket.request("o", body) {
                #expect(answer.isOK, "\(answer)")
                done.farewells.insert(message)
            } else {
                done.unsure.insert(message)
            }
            try await Bound.pause(milliseconds: Int64.random(in: 1...50, using: &random))
            if Bool.random(using: &random) { await socket.drop() } else { await socket.close() }
        }
        return done
    }

    // MARK: What is there

    private func read(
        _ path: String, _ host: MortalHost, until isEnough: (Set<String>) -> Bool = { _ in true }
    ) async throws -> JSON {
        while true {
            let answer = try await host.current.database.send("GET", "/\(path).json", headers: Self.owner)
            guard answer.status == 200 else { throw Bound.Exceeded(description: answer.text) }
            if isEnough(Set(answer.json.keys)) { return answer.json }
            try await Bound.pause(milliseconds: 50)
        }
    }

    private func number(_ document: String, _ host: MortalHost) async throws -> Int? {
        let answer = try await host.current.firestore.send(
            "GET", "/v1/projects/demo-shop/databases/(default)/documents/\(document)", headers: Self.owner)
        return answer.json["fields"]?["n"]?["integerValue"]?.text.flatMap { Int($0) }
    }
}

/// Goes on until it is set.
private final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}
