import Testing

@testable import IdentityProvider

@Suite struct AuthenticatorTests {
    private let secret = Array("12345678901234567890".utf8)

    /// The vectors of RFC 6238, appendix B, cut to six digits.
    @Test(arguments: [
        (Int64(59), "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (1_234_567_890, "005924"),
        (2_000_000_000, "279037"), (20_000_000_000, "353130"),
    ]) func codesAreThoseOfTheStandard(time: Int64, code: String) {
        #expect(Authenticator.code(secret, in: time / 30) == code)
    }

    @Test func aCodeIsGoodOnceAndForItsNeighbours() {
        let now: Int64 = 3000
        for period in Int64(98)...102 {
            let found = Authenticator.period(
                of: Authenticator.code(secret, in: period), secret: secret, after: 0, now: now)
            #expect(found == ((99...101).contains(period) ? period : nil))
        }
        let code = Authenticator.code(secret, in: 100)
        #expect(Authenticator.period(of: code, secret: secret, after: 100, now: now) == nil)
        #expect(Authenticator.period(of: "12345", secret: secret, after: 0, now: now) == nil)
    }

    @Test func secretsAreWrittenInBase32() {
        #expect(Authenticator.text(of: secret) == "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
        #expect(Authenticator.text(of: Array("foob".utf8)) == "MZXW6YQ")
        #expect(Authenticator.text(of: []) == "")
    }
}
