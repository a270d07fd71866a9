import Crypto
import DataDirectory
import Foundation
import TextFormats

/// Issues and verifies access tokens: `fha1.KEYID.EXPIRES.MAC`, with an HMAC-SHA256 of the host.
///
/// A token names the key that it was issued for, which must still be there when the token is presented.
struct AccessTokenSecret: Sendable {
    static let prefix = "fha1."
    /// The lifetime of a token in seconds, as with Google's.
    static let lifetime: Int64 = 3600

    private static let file = "token-secret"
    private let key: SymmetricKey

    init(_ bytes: [UInt8]) { key = SymmetricKey(data: bytes) }

    /// Loads the secret of a directory, or makes it at the first start. Only the directory's owner can read it.
    ///
    /// - Throws: an error for the operator if the file is damaged, or can't be read or written.
    static func load(in directory: String) throws -> AccessTokenSecret {
        let path = directory + "/" + file
        guard FileManager.default.fileExists(atPath: path) else {
            let bytes = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
            try FileBytes.replace(file, in: directory, with: Array((Base64URL.encode(bytes) + "\n").utf8))
            return AccessTokenSecret(bytes)
        }
        guard let text = FileManager.default.contents(atPath: path) else {
            throw ServiceAccountError(unreadable: path)
        }
        guard let bytes = Base64URL.decode(text.prefix { $0 != UInt8(ascii: "\n") }), bytes.count == 32 else {
            throw ServiceAccountError(
                "\(path) is damaged; delete it: servers then get new access tokens with their key files")
        }
        return AccessTokenSecret(bytes)
    }

    func issue(for keyID: String, project: String, now: Int64) -> String {
        let text = "\(Self.prefix)\(keyID).\(now + Self.lifetime)"
        let code = HMAC<SHA256>.authenticationCode(for: Self.authenticated(text, project), using: key)
        return text + "." + Base64URL.encode(Array(code))
    }

    /// - Returns: what a token of this host says; nil for any other text. It may have expired.
    func read(_ token: String, project: String) -> (keyID: String, expires: Int64)? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, token.utf8.count <= 256, let expires = Int64(parts[2]),
            let code = Base64URL.decode(Array(parts[3].utf8)),
            HMAC<SHA256>.isValidAuthenticationCode(
                code, authenticating: Self.authenticated(parts[..<3].joined(separator: "."), project), using: key)
        else { return nil }
        return (String(parts[1]), expires)
    }

    /// The project too: a data directory may be used for another one later.
    private static func authenticated(_ text: String, _ project: String) -> Data {
        Data((text + "\n" + project).utf8)
    }
}
