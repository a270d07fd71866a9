import Foundation

/// The rounds of a fuzz suite, each from a seed of its own.
///
/// `SOAK_SECONDS` goes on for longer, from the seed `SOAK_SEED` on: that seed's round is the first.
package enum FuzzRounds {
    private static let environment = ProcessInfo.processInfo.environment
    /// How long the rounds go on; nil for their usual number.
    package static let seconds = environment["SOAK_SECONDS"].flatMap { Int($0) }
    private static let first = environment["SOAK_SEED"].flatMap { UInt64($0) }
    /// How many rounds at most lie between two lines that name a seed: a trap leaves no other trace.
    private static let roundsPerLine = 200

    /// - Parameters:
    ///   - count: how many rounds there are, without `SOAK_SECONDS`.
    ///   - round: one round, whose seed its failures name.
    package static func run(
        _ what: String, count: Int, _ round: (inout SeededGenerator, _ seed: UInt64) async throws -> Void
    ) async rethrows {
        let start = ContinuousClock.now
        let first = first ?? .random(in: 0...999_999_999)
        var rounds = 0
        while seconds.map({ ContinuousClock.now - start < .seconds($0) }) ?? (rounds < count) {
            let seed = first + UInt64(rounds)
            if rounds % roundsPerLine == 0 { report("fuzzing \(what): after \(rounds) rounds, the seed is \(seed)") }
            var random = SeededGenerator(seed: seed)
            try await round(&random, seed)
            rounds += 1
            // Rounds that never wait would keep all threads from the other suites' tests.
            await Task.yield()
        }
        report("\(rounds) runs of fuzzing \(what)")
    }

    /// Says it at once, in case the next round ends the process.
    private static func report(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }
}
