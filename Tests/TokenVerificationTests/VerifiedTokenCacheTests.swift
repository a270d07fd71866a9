@testable import TokenVerification
import NIOCore
import Testing

@Suite struct VerifiedTokenCacheTests {
    private func store(_ text: String, in cache: VerifiedTokenCache) {
        var text = text
        let token = VerifiedToken(subject: text, claims: ByteBuffer(string: "{}"), expires: 100)
        text.withUTF8 { cache.store(token, for: $0) }
    }

    private func subject(_ text: String, in cache: VerifiedTokenCache) -> String? {
        var text = text
        return text.withUTF8 { cache.token(for: $0, now: 0)?.subject }
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
