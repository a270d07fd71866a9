import FunctionManifest
import Testing

@Suite struct BackoffTests {
    /// The examples that Cloud Tasks and Cloud Scheduler publish, and the bounds.
    @Test(arguments: [
        (10.0, 300.0, 3, [10.0, 20, 40, 80, 160, 240, 300, 300]),
        (0.1, 3600, 16, [0.1, 0.2, 0.4, 0.8, 1.6, 3.2]),
        (5, 60, 0, [5, 10, 15, 20, 25, 30]),
        (1, 1, 5, [1, 1, 1]),
        (0, 60, 5, [0, 0, 0]),
    ])
    func pausesDoubleThenGrowEvenly(min: Double, max: Double, doublings: Int, pauses: [Double]) {
        let backoff = Backoff(min: min, max: max, doublings: doublings)
        for (index, pause) in pauses.enumerated() {
            #expect(abs(backoff.pause(afterFailures: index + 1) - pause) < 1e-9)
        }
    }

    @Test func eventsDoubleToTheBound() {
        let backoff = Backoff(min: 10, max: 600)
        #expect((1...8).map { backoff.pause(afterFailures: $0) } == [10, 20, 40, 80, 160, 320, 600, 600])
        #expect(backoff.pause(afterFailures: 1_000_000) == 600)
    }
}
