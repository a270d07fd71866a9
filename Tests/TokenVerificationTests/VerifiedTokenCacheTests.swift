@testable import TokenVerification
import NIOCore
import Testing

@Suite struct VerifiedTokenCacheTests {
    private func store(_ text: String, in cache: VerifiedTokenCache) {
        var text = text
        let token = VerifiedToken(subject: text, claims: ByteBuffer(string: "{}"), expires: 100)
        text.withUTF8 { cache.store(token, for: $0) }
    }

    private func subject(_ text: String, in cache: VerifiedTokenCache, now: Int64 = 0) -> String? {
        var text = text
        return text.withUTF8 { cache.token(for: $0, now: now)?.subject }
    }

    @Test func aTokenIsKnownUntilItExpires() {
        let cache = VerifiedTokenCache(maxCount: 2)
        store("young", in: cache)
        #expect(subject("young", in: cache, now: 99) == "young")
        #expect(subject("young", in: cache, now: 100) == nil)
        // Now it is in the old generation.
        store("other", in: cache)
        #expect(subject("young", in: cache, now: 100) == nil)
        #expect(subject("young", in: cache, now: 99) == "young")
    }

    @Test func aTokenThatIsStoredAgainCountsOnce() {
        let cache = VerifiedTokenCache(maxBytes: 10_000)
        store("before", in: cache)
        for _ in 0..<100 { store("again", in: cache) }
        #expect(subject("before", in: cache) == "before")
    }

    @Test func countIsBoundedAndRecentlyUsedTokensStay() {
        let cache = VerifiedTokenCache(maxCount: 10)
        store("hot", in: cache)
        for number in 0..<100 {
            store("cold \(number)", in: cache)
            #expect(subject("hot", in: cache) == "hot")
        }
        let kept = (0..<100).filter { subject("cold \($0)", in: cache) != nil }
        #expect(kept.count <= 10)
    }

    @Test func bytesAreBounded() {
        let cache = VerifiedTokenCache(maxBytes: 10_000)
        for number in 0..<100 { store(String(repeating: "x", count: 900) + "\(number)", in: cache) }
        let kept = (0..<100).filter { subject(String(repeating: "x", count: 900) + "\($0)", in: cache) != nil }
        #expect(!kept.isEmpty && kept.count <= 10)
        store(String(repeating: "y", count: 6000), in: cache)
        #expect(subject(String(repeating: "y", count: 6000), in: cache) == nil)
    }
}
