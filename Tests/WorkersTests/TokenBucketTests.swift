import DocumentModel
@testable import Workers
import Testing

@Suite struct TokenBucketTests {
    private let start = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)

    @Test(arguments: [(500.0, 100), (5, 1), (0.5, 1), (50, 10)])
    func aFifthOfASecondMayComeAtOnce(rate: Double, burst: Int) {
        var bucket = TokenBucket(perSecond: rate)
        var taken = 0
        while bucket.take(at: start) { taken += 1 }
        #expect(taken == burst)
    }

    @Test(arguments: [500.0, 7, 0.3])
    func theRateHoldsInTheLongRun(rate: Double) {
        var bucket = TokenBucket(perSecond: rate)
        var now = start
        var count = 0
        while now < start.after(seconds: 100) {
            if bucket.take(at: now) { count += 1 } else { now = bucket.next(at: now) }
        }
        #expect(abs(Double(count) - (100 * rate + max(1, rate / 5))) <= 1.5)
    }

    @Test func aClockThatIsPutBackGivesNothing() {
        var bucket = TokenBucket(perSecond: 1)
        #expect(bucket.take(at: start) == true)
        #expect(bucket.take(at: start.after(seconds: -3600)) == false)
        #expect(bucket.next(at: start.after(seconds: -3600)) == start.after(seconds: -3599))
    }
}
