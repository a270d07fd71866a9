import DocumentModel
import Foundation
import StorageEngine
import StoreTorture
import TestSupport
import Testing

/// A process that uses a store is killed again and again, and the store keeps everything that was acknowledged.
///
/// `SOAK_ROUNDS` kills more often, `SOAK_SEED` repeats the moments as well as moments can be.
@Suite struct KillTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let rounds = environment["SOAK_ROUNDS"].flatMap { Int($0) } ?? 6
    private static let clients = 12
    private static let eventClients = 4
    /// Each round examines the whole store, which grows.
    private static let roundsOfAStore = 40

    @Test(.endsHangs(afterWorking: 6 * rounds), arguments: EmbeddedEngineKind.allCases)
    func whatWasAcknowledgedSurvivesEveryKill(kind: EmbeddedEngineKind) async throws {
        let seed = Self.environment["SOAK_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...9_999_999)
        print("the kills' seed on \(kind) is \(seed)")
        var random = SeededGenerator(seed: seed)
        var (commits, reads) = (0, 0)
        for first in stride(from: 1, through: Self.rounds, by: Self.roundsOfAStore) {
            let directory = try TemporaryDirectory()
            var check = try await KilledStore(kind, directory: directory.path)
            for round in first..<min(first + Self.roundsOfAStore, Self.rounds + 1) {
                let name = "round\(round)"
                let beside = ["indexes", "backups", "compaction"].filter { _ in random.once(in: 3) }
                let process = try TortureProcess(
                    directory: directory.path, round: name, seed: seed &+ UInt64(round), clients: Self.clients,
                    beside: beside)
                // Now and then it dies while it opens the store.
                if round == first || !random.once(in: 5) {
                    while process.isRunning, process.acknowledged.count < 2 {
                        try await Task.sleep(for: .milliseconds(2))
                    }
                }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...700, using: &random)))
                try #require(try await process.kill(), "the process of round \(round) gave up")
                do {
                    try await check.examine(round: name, acknowledged: process.acknowledged)
                } catch {
                    Issue.record("round \(round) of seed \(seed) on \(kind), killed beside \(beside): \(error)")
                    return
                }
            }
            commits += check.replay.commits
            reads += check.replay.reads
            withExtendedLifetime(directory) {}
        }
        print("\(Self.rounds) kills after \(commits) commits with \(reads) reads lost nothing")
        #expect(commits > Self.rounds)
    }

    /// Deliveries are leased, retried and completed until the process is killed, again and again.
    @Test(.endsHangs(afterWorking: 6 * rounds), arguments: EmbeddedEngineKind.allCases)
    func everyEffectHappensOnceThroughEveryKill(kind: EmbeddedEngineKind) async throws {
        let seed = Self.environment["SOAK_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...9_999_999)
        print("the kills' seed among events on \(kind) is \(seed)")
        var random = SeededGenerator(seed: seed)
        var orders = 0
        for first in stride(from: 1, through: Self.rounds, by: Self.roundsOfAStore) {
            let directory = try TemporaryDirectory()
            var check = try KilledOutbox(kind, directory: directory.path)
            let last = min(first + Self.roundsOfAStore - 1, Self.rounds)
            for round in first...last {
                let process = try TortureProcess(
                    directory: directory.path, round: "round\(round)", seed: seed &+ UInt64(round),
                    clients: Self.eventClients, beside: ["events"] + (random.once(in: 3) ? ["compaction"] : []))
                while process.isRunning, process.acknowledged.count < 2 { try await Task.sleep(for: .milliseconds(2)) }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...900, using: &random)))
                try #require(try await process.kill(), "the process of round \(round) gave up")
                do {
                    let acknowledged = process.acknowledged.keys.map(\.id)
                    try await check.examine(acknowledged, isLast: round == last)
                } catch {
                    Issue.record("round \(round) of seed \(seed) on \(kind): \(error)")
                    return
                }
            }
            orders += check.orders
            withExtendedLifetime(directory) {}
        }
        print("\(Self.rounds) kills among \(orders) orders lost no effect and did none twice")
        #expect(orders > Self.rounds)
    }
}
