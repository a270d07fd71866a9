@testable import TokenVerification
import Synchronization
import Testing

@Suite struct ConsumedTokensTests {
    @Test func aTokenIsConsumedOnce() {
        let tokens = ConsumedTokens(now: { 1000 })
        let first = tokens.consume("a.b.c", expires: 2000)
        let second = tokens.consume("a.b.c", expires: 2000)
        let other = tokens.consume("a.b.d", expires: 2000)
        #expect((first, second, other) == (false, true, false))
    }

    @Test func aTokenIsKnownUntilItExpires() {
        let time = Mutex<Int64>(1000)
        let tokens = ConsumedTokens(now: { time.withLock { $0 } })
        _ = tokens.consume("a.b.c", expires: 4600)
        for now in stride(from: Int64(1000), to: 4600, by: 61) {
            time.withLock { $0 = now }
            _ = tokens.consume("other \(now)", expires: 4600)
        }
        time.withLock { $0 = 4599 }
        let again = tokens.consume("a.b.c", expires: 4600)
        #expect(again)
    }

    @Test func expiredTokensAreForgotten() {
        let time = Mutex<Int64>(1000)
        let tokens = ConsumedTokens(now: { time.withLock { $0 } })
        _ = tokens.consume("a.b.c", expires: 1030)
        time.withLock { $0 = 1100 }
        _ = tokens.consume("other", expires: 2000)
        let again = tokens.consume("a.b.c", expires: 2000)
        #expect(!again)
    }
}
