import HostTesting
@testable import TokenVerification
import Testing

@Suite struct AppCheckTests {
    private func verify(_ claims: TestIssuer.Claims, number: String? = "123456") throws -> TokenVerifier.Outcome {
        let issuer = try TestIssuer.shared.get()
        let verifier = TokenVerifier(
            kind: .appCheck(project: TestIssuer.project, projectNumber: number), policy: .development,
            localKeys: LocalKeys(issuer.key.keys), remoteKeys: nil, now: { TestIssuer.start })
        return verifier.verify(try issuer.token(claims))
    }

    @Test(arguments: [
        ["projects/123456", "projects/shop-prod"], ["projects/shop-prod"], ["projects/123456"],
        ["x", "projects/123456"],
    ])
    func tokenNamesTheProjectByIDOrNumber(_ audience: [String]) throws {
        var claims = TestIssuer.appCheckClaims
        claims["aud"] = audience
        guard case .valid(let verified) = try verify(claims) else {
            Issue.record("refused")
            return
        }
        #expect(verified.subject == "1:123456:ios:abc")
    }

    @Test(arguments: [
        TokenVerifierTests.Spoiled("aud", ["projects/999"], .audience),
        .init("aud", ["shop-prod"], .audience), .init("aud", [String](), .audience),
        .init("aud", "projects/shop-prod", .audience), .init("aud", nil, .audience),
        .init("iss", "https://firebaseappcheck.googleapis.com.evil.example/1", .issuer), .init("iss", nil, .issuer),
        .init("sub", "", .subject), .init("sub", nil, .subject), .init("exp", TestIssuer.start, .expired),
        .init("iat", TestIssuer.start + 301, .issuedInFuture),
    ])
    func tokenWithAWrongClaimIsRefusedForIt(_ spoiled: TokenVerifierTests.Spoiled) throws {
        var claims = TestIssuer.appCheckClaims
        claims[spoiled.claim] = spoiled.value
        #expect(try verify(claims) == .invalid(spoiled.expected))
    }

    @Test func projectNumberIsAcceptedOnlyIfItIsKnown() throws {
        var claims = TestIssuer.appCheckClaims
        claims["aud"] = ["projects/123456"]
        #expect(try verify(claims, number: nil) == .invalid(.audience))
    }

    @Test func unsignedTokenIsRefusedInDevelopmentToo() throws {
        let verifier = TokenVerifier(
            kind: .appCheck(project: TestIssuer.project), policy: .development, remoteKeys: nil,
            now: { TestIssuer.start })
        #expect(verifier.verify(try TestIssuer.unsigned(TestIssuer.appCheckClaims)) == .invalid(.unsigned))
    }

    @Test func idTokenIsRefusedAsAnAppCheckToken() throws {
        #expect(try verify(TestIssuer.idTokenClaims) == .invalid(.audience))
    }
}
