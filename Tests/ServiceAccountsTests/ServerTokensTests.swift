import HostTesting
import TestSupport
@testable import ServiceAccounts
import Testing

@Suite struct ServerTokensTests {
    private let account: ServerAccount
    private let fixture: ServerTokenFixture

    init() throws {
        account = try ServerAccount.shared.get()
        fixture = try ServerTokenFixture(account)
    }

    private func refusal(_ assertion: String) -> String? {
        do throws(ServerAssertion.Refusal) {
            _ = try fixture.tokens.exchange(assertion)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func anAssertionIsExchangedForATokenOfAnHour() throws {
        let token = try fixture.tokens.exchange(try account.assertion())
        #expect(fixture.tokens.verify(token) == .init(keyID: account.key.id, expires: ServerAccount.start + 3600))
        fixture.clock.advance(by: .seconds(3599))
        #expect(fixture.tokens.verify(token) != nil)
        fixture.clock.advance(by: .seconds(1))
        #expect(fixture.tokens.verify(token) == nil)
    }

    /// google-auth for Python writes Google's own URI, whatever the key file says.
    @Test(arguments: [ServerAccount.tokenURI, "https://oauth2.googleapis.com/token"])
    func assertionsNameTheTokenURI(_ audience: String) throws {
        #expect(try refusal(account.assertion(["aud": audience])) == nil)
    }

    @Test(arguments: [
        ("iss", "shop@other.iam.gserviceaccount.com" as (any Sendable)?, "(iss)"), ("iss", nil, "(iss)"),
        ("aud", "https://other.example.com/token", "(aud)"), ("aud", nil, "(aud)"),
        ("aud", "https://firestore.googleapis.com/", "(aud)"), ("sub", "ada@example.com", "(sub)"),
        ("exp", ServerAccount.start, "(exp)"), ("exp", nil, "(exp)"), ("exp", ServerAccount.start + 3601, "an hour"),
        ("iat", ServerAccount.start + 301, "(iat)"), ("iat", nil, "(iat)"), ("iat", "now", "(iat)"),
        ("iat", Int64.min, "an hour"), ("exp", Int64.min, "(exp)"), ("exp", Int64.max, "an hour"),
        ("nbf", ServerAccount.start + 301, "(nbf)"),
    ])
    func claimsAreChecked(_ name: String, _ value: (any Sendable)?, _ reason: String) throws {
        let refusal = try #require(refusal(try account.assertion([name: value])))
        #expect(refusal.contains(reason), "\(refusal)")
    }

    @Test(arguments: [
        ("alg", "HS256", "RS256"), ("alg", "none", "RS256"), ("kid", "", "kid"), ("kid", "other", "revoked"),
    ])
    func headersAreChecked(_ name: String, _ value: String, _ reason: String) throws {
        let refusal = try #require(refusal(try account.assertion(header: [name: value])))
        #expect(refusal.contains(reason), "\(refusal)")
    }

    @Test func signaturesAreChecked() throws {
        let other = try ServerAccount.other.get()
        let forged = try other.assertion(header: ["kid": account.key.id])
        #expect(refusal(forged) == "the token's signature is invalid")
        #expect(try fixture.tokens.verify(other.selfSigned(header: ["kid": account.key.id])) == nil)
        #expect(refusal("no token") != nil)
        #expect(refusal(String(repeating: "a", count: 20_000)) == "the token is larger than 16 KiB")
    }

    @Test(arguments: [
        ["aud": "https://firestore.googleapis.com/"], ["aud": "https://db.example.com:8080/"],
        ["aud": "https://db.example.com/"], ["aud": "https://db.example.com/google.firestore.v1.Firestore"],
        ["aud": "https://firestore.googleapis.com/google.firestore.v1.Firestore"],
        [
            "aud": nil,
            "scope": "https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/datastore",
        ],
        ["aud": "", "scope": "https://www.googleapis.com/auth/datastore"],
    ])
    func tokensThatServersSignThemselvesAreAccessTokens(_ claims: [String: String?]) throws {
        let token = try account.selfSigned(claims.mapValues { $0 })
        for _ in 0..<2 {
            #expect(fixture.tokens.verify(token) == .init(keyID: account.key.id, expires: ServerAccount.start + 3600))
        }
        fixture.clock.advance(by: .seconds(3600))
        #expect(fixture.tokens.verify(token) == nil)
    }

    @Test(arguments: [
        ["aud": "https://pubsub.googleapis.com/"], ["aud": ServerAccount.tokenURI], ["aud": nil], ["aud": ""],
        ["aud": nil, "scope": "https://www.googleapis.com/auth/pubsub"], ["sub": "ada@example.com"],
    ])
    func tokensForOtherServicesAreNoAccessTokens(_ claims: [String: String?]) throws {
        #expect(try fixture.tokens.verify(account.selfSigned(claims.mapValues { $0 })) == nil)
    }

    /// As Google's libraries for PHP and Ruby sign them.
    @Test func aTokenThatAServerSignsItselfNeedsNoKeyID() throws {
        let other = try ServerAccount.other.get()
        let token = try other.selfSigned(header: ["kid": ""])
        #expect(other.key.email == account.key.email)
        #expect(fixture.tokens.verify(token) == nil)
        try fixture.store.add(other.key)
        #expect(fixture.tokens.verify(token) == .init(keyID: other.key.id, expires: ServerAccount.start + 3600))
        #expect(try fixture.tokens.verify(account.selfSigned(header: ["kid": ""]))?.keyID == account.key.id)
        let stranger = try other.selfSigned(["iss": "eve@example.com", "sub": nil], header: ["kid": ""])
        #expect(fixture.tokens.verify(stranger) == nil)
        _ = try fixture.store.revoke(other.key.id)
        #expect(fixture.tokens.verify(token) == nil)
    }

    /// Google's library for PHP says that it has issued one a minute ago, and adds an hour to the present.
    @Test func aTokenThatAServerSignsItselfMayBeBackdatedByAMinute() throws {
        #expect(try fixture.tokens.verify(account.selfSigned(["iat": ServerAccount.start - 60])) != nil)
        #expect(try fixture.tokens.verify(account.selfSigned(["iat": ServerAccount.start - 61])) == nil)
    }

    @Test func revocationEndsAllTokensOfAKeyAtOnce() throws {
        let other = try ServerAccount.other.get()
        try fixture.store.add(other.key)
        let tokens = [
            try fixture.tokens.exchange(try account.assertion()), try account.selfSigned(),
        ]
        let others = try fixture.tokens.exchange(try other.assertion())
        for token in tokens { #expect(fixture.tokens.verify(token) != nil) }
        #expect(try fixture.store.revoke(account.key.id) == account.key)
        for token in tokens { #expect(fixture.tokens.verify(token) == nil) }
        #expect(fixture.tokens.isRevoked(account.key.id))
        #expect(try refusal(account.assertion())?.contains("revoked") == true)
        #expect(fixture.tokens.verify(others) != nil)
    }

    @Test func alteredAccessTokensAreRefused() throws {
        let token = try fixture.tokens.exchange(try account.assertion())
        let parts = token.split(separator: ".")
        let later = "\(parts[0]).\(parts[1]).\(ServerAccount.start + 9999).\(parts[3])"
        let other = try ServerAccount.other.get()
        try fixture.store.add(other.key)
        for forged in [
            later, "\(parts[0]).\(other.key.id).\(parts[2]).\(parts[3])", String(token.dropLast(2)), token + ".x",
            "fha1.",
            "fha1...", "",
        ] {
            #expect(fixture.tokens.verify(forged) == nil, "\(forged)")
        }
        #expect(ServerTokens(fixture.store, project: "other", now: fixture.clock.wall).verify(token) == nil)
    }
}
