import StrictJSON
import Testing
import UserStore

@testable import IdentityProvider

/// Users in files are the same users again.
struct UserFormatTests {
    private static let schemes: [PasswordScheme] = [
        .scrypt(cost: 1024, blockSize: 8, parallelism: 1),
        .firebaseScrypt(signerKey: [UInt8](repeating: 7, count: 32), saltSeparator: [1, 2], rounds: 8, memoryCost: 14),
        .hmac(.sha256, key: [9, 8], order: .passwordFirst), .hmac(.md5, key: [1], order: .saltFirst),
        .digest(.sha512, rounds: 3, order: .saltFirst), .pbkdf2(.sha1, rounds: 1000), .pbkdf2(.sha256, rounds: 1),
        .bcrypt,
        .argon2(
            Argon2Parameters(
                variant: .id, version: .v10, iterations: 2, memoryKiB: 64, parallelism: 1, associatedData: [3])),
    ]

    @Test(arguments: schemes)
    func allOfAUserIsKept(scheme: PasswordScheme) throws {
        var user = UserRecord(uid: "ada", createdAt: 1000)
        user.email = "ada@example.com"
        user.isEmailVerified = true
        user.displayName = "Ada"
        user.photoURL = "https://example.com/a.png"
        user.phoneNumber = "+4915112345678"
        user.isDisabled = true
        let count: Int =
            switch scheme {
            case .digest(.sha512, _, _): 64
            case .hmac(.md5, _, _): 16
            default: 32
            }
        let hash =
            scheme == .bcrypt
            ? Array("$2b$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234".utf8)
            : [UInt8](repeating: 250, count: count)
        user.password = PasswordHash(
            scheme: scheme, hash: hash, salt: scheme == .bcrypt ? [] : [255, 254, 1, 2, 3, 4, 5, 6])
        user.passwordUpdatedAt = 5
        user.usesEmailLink = true
        user.usesCustomToken = true
        var identity = ProviderIdentity(provider: "oidc.own", rawID: "7")
        identity.federatedID = "https://id.example.com/7"
        identity.email = "other@example.com"
        identity.screenName = "ada"
        user.identities = [identity]
        user.secondFactors = [
            SecondFactor(id: "1", displayName: "phone", enrolledAt: 1_000_000, kind: .phone("+4915112345679")),
            SecondFactor(
                id: "2", displayName: nil, enrolledAt: 2_000_000,
                kind: .authenticator(secret: Array(0..<20), lastPeriod: 0)),
        ]
        user.claims = #"{"admin":true}"#
        user.initialEmail = "first@example.com"
        user.lastSignInAt = 2000
        user.lastRefreshAt = 3000
        user.validSince = 4
        let text = try JSONValue.object(UserFormat.json(of: user)).serialized()
        #expect(try UserFormat.record(JSONNode(parsing: text), now: 99) == user)
    }

    /// An admin may have changed or removed the address since.
    @Test(arguments: [nil, "ada@example.com"] as [String?])
    func secondFactorsAreKeptWithoutAVerifiedAddress(email: String?) throws {
        var user = UserRecord(uid: "ada", createdAt: 1000)
        user.email = email
        user.validSince = 4
        user.secondFactors = [
            SecondFactor(id: "1", displayName: nil, enrolledAt: 1_000_000, kind: .phone("+4915112345679"))
        ]
        let text = try JSONValue.object(UserFormat.json(of: user)).serialized()
        #expect(try UserFormat.record(JSONNode(parsing: text), now: 99) == user)
    }

    /// The clock of another host may be fast, and a script may write milliseconds.
    @Test(arguments: ["100", "4000"]) func importedUsersCanSignInAtOnce(validSince: String) throws {
        let text = #"{"localId":"ada","validSince":"\#(validSince)"}"#
        #expect(try UserFormat.record(JSONNode(parsing: Array(text.utf8)), now: 99).validSince == 99)
    }

    @Test func secretsOfAuthenticatorAppsAreReadBack() {
        for count in 10...40 {
            let secret = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            #expect(Authenticator.secret(in: Authenticator.text(of: secret)) == secret)
        }
        #expect(Authenticator.secret(in: "short") == nil)
        #expect(Authenticator.secret(in: "0189018901890189") == nil)
    }
}
