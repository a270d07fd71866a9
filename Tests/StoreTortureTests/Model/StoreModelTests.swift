import Foundation
import TestSupport
import Testing

/// Random writes, transactions, reads and queries on the store and on a model of it: every answer is the same.
///
/// `SOAK_SECONDS` goes on for longer, `SOAK_SEED` repeats one run.
@Suite struct StoreModelTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["SOAK_SECONDS"].flatMap { Int($0) } ?? 3
    private static let only = environment["SOAK_SEED"].flatMap { UInt64($0) }
    private static let length = 400

    @Test(.endsHangs(afterWorking: seconds), arguments: StoreUnderTest.Kind.allCases)
    func everyAnswerIsThatOfTheModel(kind: StoreUnderTest.Kind) async throws {
        let end = ContinuousClock.now + .seconds(Self.seconds)
        var runs = 0
        repeat {
            let seed = Self.only ?? .random(in: 0...9_999_999)
            let steps = RandomSteps.make(seed: seed, count: Self.length)
            if let failure = await Shrinking.failure(of: steps, on: kind) {
                let (short, last) = await Shrinking.shorten(steps, after: failure, on: kind)
                Issue.record(
                    """
                    seed \(seed) on \(kind): \(Shrinking.plain("\(last)"))
                    \(short.count) steps are enough:
                    \(Shrinking.text(short))
                    """)
                return
            }
            runs += 1
        } while ContinuousClock.now < end && Self.only == nil
        print("\(runs) runs of \(Self.length) random steps on \(kind)")
    }
}
