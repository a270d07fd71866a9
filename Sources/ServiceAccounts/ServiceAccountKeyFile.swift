import Crypto
import StrictJSON
import TextFormats
import _CryptoExtras

/// A key file in the JSON form of Google's, which Google's client libraries load.
///
/// Source of the form: `google.auth._service_account_info` and `google.oauth2.service_account` of google-auth.
package struct ServiceAccountKeyFile: Sendable {
    /// What the host keeps.
    package let key: ServiceAccountKey
    /// The file's content, with the private key.
    package let content: [UInt8]

    /// Makes a new key pair, which takes some tenths of a second.
    ///
    /// - Parameters:
    ///   - name: see ``ServiceAccountKey/isName(_:)``.
    ///   - tokenURI: the URL of the host's `/token`.
    ///   - now: seconds since 1970.
    package init(name: String, project: String, tokenURI: String, now: Int64) throws {
        let pair = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let digest = Array(SHA256.hash(data: pair.publicKey.derRepresentation))
        key = ServiceAccountKey(
            id: Hexadecimal.encode(digest.prefix(20)), name: name, email: "\(name)@\(project).iam.gserviceaccount.com",
            tokenURI: tokenURI, created: now, publicKey: pair.publicKey.pemRepresentation)
        let pem = pair.pkcs8PEMRepresentation
        // Google's ids are decimal numbers of 21 digits.
        let number = digest.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let members: [(String, String)] = [
            ("type", "service_account"), ("project_id", project), ("private_key_id", key.id),
            ("private_key", pem.hasSuffix("\n") ? pem : pem + "\n"), ("client_email", key.email),
            ("client_id", "1" + String(repeating: "0", count: 20 - "\(number)".count) + "\(number)"),
            ("auth_uri", "https://accounts.google.com/o/oauth2/auth"), ("token_uri", tokenURI),
            // Google's libraries refuse an endpoint whose domain differs from the key's; this is their default.
            ("universe_domain", "googleapis.com"),
        ]
        let lines = members.map { name, value in
            var line = JSONWriter()
            line.key(name)
            line.raw(" ")
            line.string(value)
            return "  " + String(decoding: line.bytes, as: UTF8.self)
        }
        content = Array(("{\n" + lines.joined(separator: ",\n") + "\n}\n").utf8)
    }
}
