import TokenVerification
import _CryptoExtras

/// The public half of a server's key, which the data directory keeps. The private half is in a file of the server alone.
package struct ServiceAccountKey: Codable, Hashable, Sendable {
    /// 40 hexadecimal digits derived from the public key: `private_key_id` in the key file, `kid` in tokens.
    package var id: String
    /// What the operator called the server.
    package var name: String
    /// `NAME@PROJECT.iam.gserviceaccount.com`: `client_email` in the key file, `iss` in tokens.
    package var email: String
    /// The URL at which the key file's holder gets access tokens.
    package var tokenURI: String
    /// Seconds since 1970.
    package var created: Int64
    /// The RSA public key in PEM.
    package var publicKey: String

    /// - Throws: if the text is not an RSA public key.
    func verificationKey() throws -> PublicKey {
        PublicKey(try _RSA.Signing.PublicKey(pemRepresentation: publicKey))
    }

    /// Whether a server may be called so: a name is the first part of an address.
    package static func isName(_ name: String) -> Bool {
        guard (1...63).contains(name.utf8.count), name.utf8.first.map({ (97...122).contains($0) }) == true,
            name.utf8.last != UInt8(ascii: "-")
        else { return false }
        return name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-") }
    }

    package static let nameDescription =
        "use lowercase letters, digits and -, begin with a letter, and use at most 63 characters"
}
