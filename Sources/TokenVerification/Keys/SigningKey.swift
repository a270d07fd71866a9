import Crypto
import Foundation
import SwiftASN1
import TextFormats
import X509
package import _CryptoExtras

/// The host's own RSA key, which signs the tokens of local sign-in.
///
/// Its certificate is published in the same format as Google's, so that these tokens are verified in the same way.
package struct SigningKey: Sendable {
    /// The key's id in tokens: 40 hexadecimal digits derived from the public key, as with Google's keys.
    package let keyID: String
    /// The self-signed certificate in PEM.
    package let certificate: String
    private let key: _RSA.Signing.PrivateKey

    /// - Parameter issued: When the certificate becomes valid, in seconds since 1970; it is valid for ten years.
    /// - Throws: if no certificate can be made for the key.
    package init(_ key: _RSA.Signing.PrivateKey, issued: Int64) throws {
        self.key = key
        let digest = SHA256.hash(data: key.publicKey.derRepresentation)
        let primitives = try key.publicKey.getKeyPrimitives()
        publicNumbers = (Base64URL.encode(primitives.modulus), Base64URL.encode(primitives.publicExponent))
        keyID = Hexadecimal.encode(digest.prefix(20))
        let name = try DistinguishedName { CommonName("securetoken.functions-host.local") }
        let start = Date(timeIntervalSince1970: TimeInterval(issued - 24 * 3600))
        certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(bytes: Array(digest.prefix(16))),
            publicKey: .init(key.publicKey), notValidBefore: start,
            notValidAfter: start.addingTimeInterval(10 * 365 * 24 * 3600), issuer: name, subject: name,
            signatureAlgorithm: .sha256WithRSAEncryption, extensions: .init(), issuerPrivateKey: .init(key)
        ).serializeAsPEM().pemString
    }

    /// The public key, for a ``TokenVerifier``.
    package var keys: KeySet { KeySet([keyID: publicKey]) }

    package var publicKey: PublicKey { PublicKey(key.publicKey) }

    /// The private key as a file has it.
    package var pem: [UInt8] {
        let pem = key.pkcs8PEMRepresentation
        return Array((pem.hasSuffix("\n") ? pem : pem + "\n").utf8)
    }

    /// The numbers of the public key, as a JSON Web Key has them.
    package let publicNumbers: (modulus: String, exponent: String)

    /// Signs a token with these claims, using RS256.
    ///
    /// - Parameter claims: A JSON object.
    package func sign(claims: some Collection<UInt8>) throws -> String {
        let header = #"{"alg":"RS256","kid":"\#(keyID)","typ":"JWT"}"#
        let signed = Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims)
        let signature = try key.signature(
            for: SHA256.hash(data: Data(signed.utf8)), padding: .insecurePKCS1v1_5)
        return signed + "." + Base64URL.encode(signature.rawRepresentation)
    }
}
