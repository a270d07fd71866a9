import TextFormats
package import TokenVerification
import Crypto
import Foundation
package import _CryptoExtras

/// A token issuer for tests: a key, and claims that are valid unless a test changes them.
package struct TestIssuer: Sendable {
    package typealias Claims = [String: any Sendable]

    package static let project = "shop-prod"
    /// The time at which all tests begin, in seconds since 1970.
    package static let start: Int64 = 1_800_000_000

    /// Shared by tests, because creating a key takes a while.
    package static let shared = Result { try TestIssuer() }
    package static let stranger = Result { try TestIssuer() }
    /// The key after the shared one.
    package static let next = Result { try TestIssuer() }

    package let key: SigningKey
    package let privateKey: _RSA.Signing.PrivateKey

    package init() throws {
        privateKey = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        key = try SigningKey(privateKey, issued: Self.start)
    }

    package static var idTokenClaims: Claims {
        [
            "iss": "https://securetoken.google.com/\(project)", "aud": project, "sub": "ada", "user_id": "ada",
            "iat": start - 10, "exp": start + 3590, "auth_time": start - 100,
            "firebase": ["sign_in_provider": "anonymous"],
        ]
    }

    package static var appCheckClaims: Claims {
        [
            "iss": "https://firebaseappcheck.googleapis.com/123456", "sub": "1:123456:ios:abc",
            "aud": ["projects/123456", "projects/\(project)"], "iat": start - 10, "exp": start + 3590,
        ]
    }

    package func token(_ claims: Claims = idTokenClaims) throws -> String {
        try key.sign(claims: JSONSerialization.data(withJSONObject: claims))
    }

    /// A token with the given header, signed with this key.
    package func token(header: Claims, _ claims: Claims = idTokenClaims) throws -> String {
        let signed = try Self.unsigned(header: header, claims).dropLast()
        let signature = try privateKey.signature(
            for: SHA256.hash(data: Data(signed.utf8)), padding: .insecurePKCS1v1_5)
        return signed + "." + Base64URL.encode(signature.rawRepresentation)
    }

    /// An unsigned token in the format of the JS SDK's `createMockUserToken`.
    package static func unsigned(header: Claims = ["alg": "none", "type": "JWT"], _ claims: Claims) throws -> String {
        let parts = try [header, claims].map { Base64URL.encode(try JSONSerialization.data(withJSONObject: $0)) }
        return parts.joined(separator: ".") + "."
    }
}
