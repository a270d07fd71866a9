import HostTesting
import TestSupport
@testable import ServiceAccounts
import Crypto
import Foundation
import TextFormats
import _CryptoExtras

/// A server with a key file, as Google's libraries use one.
struct ServerAccount: Sendable {
    static let project = TestIssuer.project
    static let tokenURI = "https://db.example.com:8080/token"
    static let start = TestIssuer.start

    /// Shared by tests, because making keys takes a while.
    static let shared = Result { try ServerAccount("shop") }
    static let other = Result { try ServerAccount("shop") }

    let key: ServiceAccountKey
    /// The members of the file.
    let file: [String: String]
    private let privateKey: _RSA.Signing.PrivateKey

    init(_ name: String) throws {
        let made = try ServiceAccountKeyFile(
            name: name, project: Self.project, tokenURI: Self.tokenURI, now: Self.start)
        key = made.key
        file = try JSONSerialization.jsonObject(with: Data(made.content)) as? [String: String] ?? [:]
        privateKey = try _RSA.Signing.PrivateKey(pemRepresentation: file["private_key"] ?? "")
    }

    /// What google-auth sends to `/token`, with changes; nil removes a claim.
    func assertion(_ changes: [String: (any Sendable)?] = [:], header: [String: String] = [:]) throws -> String {
        try sign(
            ["iss": key.email, "aud": Self.tokenURI, "scope": "", "iat": Self.start, "exp": Self.start + 3600], changes,
            header)
    }

    /// What google-auth presents as an access token, with changes.
    func selfSigned(_ changes: [String: (any Sendable)?] = [:], header: [String: String] = [:]) throws -> String {
        try sign(
            [
                "iss": key.email, "sub": key.email, "aud": "https://firestore.googleapis.com/", "iat": Self.start,
                "exp": Self.start + 3600,
            ], changes, header)
    }

    private func sign(
        _ claims: [String: any Sendable], _ changes: [String: (any Sendable)?], _ header: [String: String]
    ) throws -> String {
        var claims = claims
        for (name, value) in changes { claims[name] = value }
        let header = ["alg": "RS256", "kid": key.id, "typ": "JWT"].merging(header) { _, new in new }
            .filter { !$0.value.isEmpty }
        let signed = try [header as [String: any Sendable], claims].map {
            Base64URL.encode(try JSONSerialization.data(withJSONObject: $0))
        }.joined(separator: ".")
        let signature = try privateKey.signature(
            for: SHA256.hash(data: Data(signed.utf8)), padding: .insecurePKCS1v1_5)
        return signed + "." + Base64URL.encode(signature.rawRepresentation)
    }
}

/// A store in its own directory, and tokens at a time of the test's.
struct ServerTokenFixture {
    let directory: TemporaryDirectory
    let store: ServiceAccountStore
    let clock = ManualClock.atIssue()
    let tokens: ServerTokens

    init(_ accounts: ServerAccount...) throws {
        directory = try TemporaryDirectory()
        store = try ServiceAccountStore(in: directory.path + "/service-accounts")
        for account in accounts { try store.add(account.key) }
        tokens = ServerTokens(store, project: ServerAccount.project, now: clock.wall)
    }
}
