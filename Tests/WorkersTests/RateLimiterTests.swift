import DocumentModel
import FunctionManifest
import WorkerProtocol
@testable import Workers
import NIOCore
import Testing

@Suite struct RateLimiterTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let home = IPAddress("192.0.2.1")

    @Test func aUserHasTheirCallsAtOnceAndThenOneInEachShareOfTheTime() throws {
        let limiter = try #require(RateLimiter([.init(per: .user, count: 10, seconds: 60)], now: start))
        func refusal(_ time: NIODeadline) -> Int64? {
            limiter.refuse(user: "ada", address: home, now: time)?.retryAfter
        }
        for _ in 1...10 { #expect(refusal(start) == nil) }
        #expect(refusal(start) == 6)
        #expect(refusal(start + .milliseconds(2500)) == 4)
        #expect(refusal(start + .milliseconds(5999)) == 1)
        #expect(refusal(start + .seconds(6)) == nil)
        #expect(refusal(start + .seconds(6)) == 6)
        for _ in 1...10 { #expect(refusal(start + .seconds(200)) == nil) }
        #expect(refusal(start + .seconds(200)) == 6)
    }

    @Test func usersAreCountedEachAndWithoutOneTheAddressIs() throws {
        let limiter = try #require(RateLimiter([.init(per: .user, count: 1, seconds: 60)], now: start))
        func isFree(_ user: String?, _ address: String) -> Bool {
            limiter.refuse(user: user, address: IPAddress(address), now: start) == nil
        }
        #expect(isFree("ada", "192.0.2.1"))
        #expect(!isFree("ada", "192.0.2.2"))
        #expect(isFree("bob", "192.0.2.1"))
        #expect(isFree(nil, "192.0.2.1"))
        #expect(!isFree(nil, "192.0.2.1"))
        #expect(isFree(nil, "192.0.2.2"))
        // A network of IPv6 is one holder's.
        #expect(isFree(nil, "2001:db8::1"))
        #expect(!isFree(nil, "2001:db8::2"))
        #expect(isFree(nil, "2001:db8:0:1::1"))
    }

    @Test func whatOneLimitRefusesCountsForNone() throws {
        let limiter = try #require(
            RateLimiter(
                [.init(per: .address, count: 2, seconds: 10), .init(per: .user, count: 1, seconds: 60)], now: start))
        func refused(_ user: String) -> RateLimitManifest? {
            limiter.refuse(user: user, address: home, now: start)?.limit
        }
        #expect(refused("ada") == nil)
        for _ in 1...5 { #expect(refused("ada")?.per == .user) }
        #expect(refused("bob") == nil)
        #expect(refused("cleo")?.per == .address)
    }

    @Test func noLimitsAreNothingToAskFor() { #expect(RateLimiter([]) == nil) }

    @Test func aReleaseForgivesNobodyUnlessItChangesTheLimits() throws {
        let first = try #require(RateLimiter([.init(per: .user, count: 1, seconds: 60)], now: start))
        #expect(first.refuse(user: "ada", address: nil, now: start) == nil)
        // As often as it is only looked at what another release would change.
        #expect(RateLimiter.going(on: first, with: [.init(per: .user, count: 2, seconds: 60)]) !== first)
        #expect(RateLimiter.going(on: first, with: []) == nil)
        let same = RateLimiter.going(on: first, with: [.init(per: .user, count: 1, seconds: 60)])
        #expect(same === first)
        #expect(same?.refuse(user: "ada", address: nil, now: start) != nil)
    }

    @Test func theLimitThatRefusesLongestIsNamed() throws {
        for isLongFirst in [true, false] {
            let long = RateLimitManifest(per: .user, count: 1, seconds: 3600)
            let short = RateLimitManifest(per: .address, count: 1, seconds: 60)
            let limiter = try #require(RateLimiter(isLongFirst ? [long, short] : [short, long], now: start))
            let address = IPAddress(v4: 1)
            #expect(limiter.refuse(user: "ada", address: address, now: start) == nil)
            #expect(
                limiter.refuse(user: "ada", address: address, now: start) == .init(limit: long, retryAfter: 3600))
        }
    }

    @Test func aFloodOfAddressesDoesNotGrowTheTable() {
        var table = RateTable(.init(per: .address, count: 1, seconds: 60), now: 0, capacity: 100)
        for number in 0..<10_000 {
            table.take(.address(IPAddress(v4: UInt32(number))), now: 0)
            #expect(table.count <= 200)
        }
        // The last ones are still known.
        #expect(table.wait(.address(IPAddress(v4: 9_950)), now: 0) == 60_000_000_000)
    }

    @Test func nobodyIsForgivenBeforeTheirTime() {
        var table = RateTable(.init(per: .user, count: 2, seconds: 10), now: 0, capacity: 100)
        let second: Int64 = 1_000_000_000
        table.take(.user("ada"), now: 9 * second)
        table.take(.user("ada"), now: 9 * second)
        for time in 10...13 { table.take(.user("bob\(time)"), now: Int64(time) * second) }
        #expect(table.wait(.user("ada"), now: 13 * second) == second)
        #expect(table.wait(.user("ada"), now: 14 * second) == 0)
        for time in 14...40 { table.take(.user("bob\(time)"), now: Int64(time) * second) }
        #expect(table.count <= 21)
    }

    @Test func theAnswerSaysWhichLimitAndHowLong() {
        let failure = InvocationFailure.rateLimited(
            .init(limit: .init(per: .address, count: 1, seconds: 5), retryAfter: 3), "purchase")
        #expect(failure.code == .resourceExhausted)
        #expect(failure.message == "purchase takes 1 call in 5 s from one address. Try again in 3 s.")
        #expect(
            failure.details.map { String(buffer: $0) }
                == #"[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3s"}]"#)
    }
}
