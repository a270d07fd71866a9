import HostTesting
import StrictJSON
import TextFormats
@testable import TokenVerification
import Crypto
import Foundation
import NIOCore
import TestSupport
import Testing
import _CryptoExtras

@Suite struct TokenVerifierTests {
    private func verifier(
        _ kind: TokenKind = .idToken(project: TestIssuer.project), policy: TokenPolicy = .production,
        now: @escaping WallClock = { TestIssuer.start }
    ) throws -> TokenVerifier {
        try TokenVerifier(
            kind: kind, policy: policy, localKeys: LocalKeys(TestIssuer.shared.get().key.keys), remoteKeys: nil,
            now: now)
    }

    /// A claim with an invalid value, and the rejection that it must cause.
    struct Spoiled: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var expected: TokenRejection
        var claim: String
        var value: (any Sendable)?

        init(_ claim: String, _ value: (any Sendable)?, _ expected: TokenRejection) {
            testDescription = "\(claim) = \(value.map { String(describing: $0).prefix(50) } ?? "nothing")"
            self.claim = claim
            self.value = value
            self.expected = expected
        }
    }

    @Test func genuineIDTokenGivesItsSubjectAndClaims() throws {
        let token = try TestIssuer.shared.get().token()
        guard case .valid(let verified) = try verifier().verify(token) else {
            Issue.record("refused")
            return
        }
        #expect(verified.subject == "ada")
        #expect(verified.expires == TestIssuer.start + 3590)
        let claims = try JSONNode(parsing: Array(verified.claims.readableBytesView))
        #expect(claims["firebase"]?["sign_in_provider"]?.text == "anonymous")
    }

    @Test func sessionCookiesAndIDTokensAreNotInterchangeable() throws {
        let issuer = try TestIssuer.shared.get()
        var claims = TestIssuer.idTokenClaims
        claims["iss"] = "https://session.firebase.google.com/\(TestIssuer.project)"
        let cookie = try issuer.token(claims)
        let sessions = try verifier(.sessionCookie(project: TestIssuer.project))
        guard case .valid(let verified) = sessions.verify(cookie) else {
            Issue.record("refused")
            return
        }
        #expect(verified.subject == "ada")
        #expect(sessions.verify(try issuer.token()) == .invalid(.issuer))
        #expect(try verifier().verify(cookie) == .invalid(.issuer))
    }

    @Test(arguments: [
        Spoiled("aud", "another-project", .audience), Spoiled("aud", nil, .audience),
        Spoiled("aud", ["shop-prod"], .audience), Spoiled("aud", "", .audience),
        Spoiled("iss", "https://securetoken.google.com/another", .issuer), Spoiled("iss", nil, .issuer),
        Spoiled("iss", "https://session.firebase.google.com/shop-prod", .issuer),
        Spoiled("sub", "", .subject), Spoiled("sub", nil, .subject), Spoiled("sub", 7, .subject),
        Spoiled("sub", String(repeating: "u", count: 129), .subject),
        Spoiled("exp", TestIssuer.start, .expired), Spoiled("exp", nil, .expired),
        Spoiled("exp", "tomorrow", .expired), Spoiled("exp", -1.0e300, .expired), Spoiled("exp", 1.0e300, .expired),
        Spoiled("iat", TestIssuer.start + 301, .issuedInFuture), Spoiled("iat", nil, .issuedInFuture),
        Spoiled("auth_time", TestIssuer.start + 301, .authenticatedInFuture),
        Spoiled("auth_time", nil, .authenticatedInFuture),
        Spoiled(
            "aud", "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit",
            .customToken),
    ])
    func idTokenWithAWrongClaimIsRefusedForIt(_ spoiled: Spoiled) throws {
        var claims = TestIssuer.idTokenClaims
        claims[spoiled.claim] = spoiled.value
        let token = try TestIssuer.shared.get().token(claims)
        #expect(try verifier().verify(token) == .invalid(spoiled.expected))
    }

    @Test func timesOfIssueMayLieAFewMinutesAhead() throws {
        var claims = TestIssuer.idTokenClaims
        claims["iat"] = TestIssuer.start + 300
        claims["auth_time"] = TestIssuer.start + 300
        guard case .valid = try verifier().verify(TestIssuer.shared.get().token(claims)) else {
            Issue.record("refused")
            return
        }
    }

    @Test(arguments: [
        (["alg": "HS256", "kid": "k"], TokenRejection.algorithm), (["alg": "RS512"], .algorithm),
        (["alg": "rs256"], .algorithm), (["alg": "RS256"], .noKeyID), (["alg": "RS256", "kid": ""], .noKeyID),
        (["alg": "RS256", "kid": "never-published"], .unknownKey), (["kid": "k"], .malformed),
        (["alg": "RS256", "kid": "k", "crit": "b64"], .malformed),
    ])
    func invalidHeaderIsRefused(_ header: [String: String], _ expected: TokenRejection) throws {
        let token = try TestIssuer.shared.get().token(header: header)
        #expect(try verifier().verify(token) == .invalid(expected))
    }

    @Test func tokenSignedWithThePublicKeyAsSecretIsRefused() throws {
        let issuer = try TestIssuer.shared.get()
        let header: TestIssuer.Claims = ["alg": "HS256", "kid": issuer.key.keyID, "typ": "JWT"]
        let signed = try TestIssuer.unsigned(header: header, TestIssuer.idTokenClaims).dropLast()
        for secret in [issuer.privateKey.publicKey.pemRepresentation, issuer.key.certificate] {
            let code = HMAC<SHA256>.authenticationCode(
                for: Data(signed.utf8), using: SymmetricKey(data: Data(secret.utf8)))
            #expect(try verifier().verify(signed + "." + Base64URL.encode(Data(code))) == .invalid(.algorithm))
        }
    }

    @Test func signatureOfAnotherKeyUnderOurKeyIDIsRefused() throws {
        let header: TestIssuer.Claims = ["alg": "RS256", "kid": try TestIssuer.shared.get().key.keyID]
        let token = try TestIssuer.stranger.get().token(header: header)
        #expect(try verifier().verify(token) == .invalid(.signature))
    }

    @Test func changedPayloadIsRefusedAlsoAfterTheGenuineTokenWasSeen() throws {
        let verifier = try verifier()
        let token = try TestIssuer.shared.get().token()
        _ = verifier.verify(token)
        var claims = TestIssuer.idTokenClaims
        claims["sub"] = "eve"
        let forged = try TestIssuer.unsigned(claims).split(separator: ".")[1]
        var parts = token.split(separator: ".")
        parts[1] = forged
        #expect(verifier.verify(parts.joined(separator: ".")) == .invalid(.signature))
    }

    @Test(arguments: [
        "", ".", "..", "...", "a.b", "a.b.c", "é.é.é", "ey.ey.ey", "e30.e30.", "bnVsbA.e30.", "Bearer x",
    ])
    func garbageIsRefused(_ text: String) throws {
        #expect(try verifier(policy: .development).verify(text) == .invalid(.malformed))
    }

    @Test func everyTruncationIsRefused() throws {
        let token = try TestIssuer.shared.get().token()
        let verifier = try verifier(policy: .development)
        for length in stride(from: 0, to: token.utf8.count, by: 7) {
            guard case .invalid = verifier.verify(token.prefix(length)) else {
                Issue.record("\(length) bytes were accepted")
                continue
            }
        }
    }

    @Test func paddingAndSecondTextsOfOneTokenAreRefused() throws {
        let token = try TestIssuer.shared.get().token()
        #expect(try verifier().verify(token + "==") == .invalid(.malformed))
        #expect(try verifier().verify(token + "\n") == .invalid(.malformed))
        #expect(try verifier().verify(token + ".e30") == .invalid(.malformed))
        // A signature of 256 bytes leaves four bits of its last character unused; A, Q, g and w leave them zero.
        let last = try #require(token.last)
        let second = try #require(["A": "B", "Q": "R", "g": "h", "w": "x"][last])
        #expect(try verifier().verify(token.dropLast() + second) == .invalid(.malformed))
    }

    @Test func oversizedTokenIsRefusedUnread() throws {
        var claims = TestIssuer.idTokenClaims
        claims["filler"] = String(repeating: "x", count: 16 * 1024)
        #expect(try verifier().verify(TestIssuer.shared.get().token(claims)) == .invalid(.oversized))
    }

    @Test func cachedTokenIsRefusedOnceItExpires() throws {
        let clock = ManualClock.atIssue()
        let verifier = try verifier(now: clock.wall)
        let token = try TestIssuer.shared.get().token()
        clock.advance(by: .seconds(3589))
        guard case .valid = verifier.verify(token) else {
            Issue.record("refused before its expiry")
            return
        }
        clock.advance(by: .seconds(1))
        #expect(verifier.verify(token) == .invalid(.expired))
    }

    @Test func mockUserTokenIsAcceptedInDevelopmentAndNeverInProduction() throws {
        let claims: TestIssuer.Claims = [
            "iss": "https://securetoken.google.com/shop-prod", "aud": "shop-prod", "iat": 0, "exp": 3600,
            "auth_time": 0, "sub": "alice", "user_id": "alice",
            "firebase": ["sign_in_provider": "custom", "identities": [String: String]()] as TestIssuer.Claims,
        ]
        let token = try TestIssuer.unsigned(claims)
        guard case .valid(let verified) = try verifier(policy: .development).verify(token) else {
            Issue.record("refused in development")
            return
        }
        #expect(verified.subject == "alice")
        #expect(verified.expires == .max, "it is valid for ever")
        #expect(try verifier(policy: .production).verify(token) == .invalid(.unsigned))
    }

    @Test(arguments: [
        Spoiled("aud", "another-project", .audience), Spoiled("iss", "https://evil.example", .issuer),
        Spoiled("sub", "", .subject),
    ])
    func unsignedTokenMustStillNameTheProject(_ spoiled: Spoiled) throws {
        var claims = TestIssuer.idTokenClaims
        claims[spoiled.claim] = spoiled.value
        #expect(
            try verifier(policy: .development).verify(TestIssuer.unsigned(claims)) == .invalid(spoiled.expected))
    }

    @Test func unsignedTokenThatIsKnownExpiresToo() throws {
        let clock = ManualClock.atIssue()
        let verifier = try verifier(policy: .development, now: clock.wall)
        let token = try TestIssuer.unsigned(TestIssuer.idTokenClaims)
        for _ in 1...2 {
            guard case .valid = verifier.verify(token) else {
                Issue.record("refused")
                return
            }
        }
        clock.advance(by: .seconds(3590))
        #expect(verifier.verify(token) == .invalid(.expired))
    }

    @Test func unsignedTokenWithASignatureIsRefused() throws {
        let token = try TestIssuer.unsigned(TestIssuer.idTokenClaims) + "AAAA"
        #expect(try verifier(policy: .development).verify(token) == .invalid(.unsigned))
    }

    @Test func signedTokenExpiresInDevelopmentToo() throws {
        var claims = TestIssuer.idTokenClaims
        claims["exp"] = TestIssuer.start - 1
        let token = try TestIssuer.shared.get().token(claims)
        #expect(try verifier(policy: .development).verify(token) == .invalid(.expired))
    }
}
