import Foundation
import TestSupport
import Testing

/// The official Firestore emulator and our host, asked the very same over REST: every status and every document is
/// equal, but where a case says why not.
///
/// Where the emulator isn't what production is documented to be, we follow production. `SOAK_SECONDS` makes the random
/// part longer, `SOAK_SEED` repeats one.
@Suite(
    .enabled(
        if: OfficialEmulator.isInstalled,
        "the official emulator is not installed: apt-get install google-cloud-cli-firestore-emulator, and Java"))
struct OracleTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["SOAK_SECONDS"].flatMap { Int($0) } ?? 6

    @Test(.endsHangs)
    func everyCaseIsAnsweredAsTheEmulatorDoes() async throws {
        try await OraclePair.serving { pair in
            // Each table has collections of its own, so that they can be asked side by side.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for cases in [
                    OracleValues.cases, OracleQueries.cases, OracleWrites.cases, OracleLimits.cases,
                    OracleAggregations.cases, OracleSearches.cases,
                ] {
                    group.addTask { for example in cases { try await pair.check(example) } }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test(.endsHangs(afterWorking: seconds))
    func whatIsRandomIsAnsweredAsTheEmulatorDoes() async throws {
        let seed = Self.environment["SOAK_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...999_999)
        print("the oracle's seed is \(seed)")
        try await OraclePair.serving { pair in
            let end = ContinuousClock.now + .seconds(Self.seconds)
            var round = seed
            repeat {
                var random = OracleRandom(seed: round)
                for example in random.round() { try await pair.check(example) }
                round &+= 1
            } while ContinuousClock.now < end
        }
    }
}
