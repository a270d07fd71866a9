import Crypto
import Foundation
package import HostProcess
package import StrictJSON
import TextFormats
import _CryptoExtras

/// A key file of a service account, as Google's console exports it.
package struct ServiceAccountFile: Sendable {
    package let email: String
    /// Where its tokens are exchanged for access tokens.
    let tokenURI: String
    private let keyID: String?
    private let key: _RSA.Signing.PrivateKey

    /// - Throws: an error for the operator, which holds nothing of the key.
    package init(path: String) throws(HostError) {
        func failure(_ reason: String) -> HostError {
            HostError("GOOGLE_APPLICATION_CREDENTIALS names \(path), which \(reason)")
        }
        guard let data = FileManager.default.contents(atPath: path) else { throw failure("can't be read") }
        guard let file = try? JSONValue(parsing: Array(data)) else { throw failure("isn't JSON") }
        guard file["type"]?.stringValue == "service_account" else {
            throw failure("isn't the key of a service account: its type isn't service_account")
        }
        func text(_ name: String) throws(HostError) -> String {
            guard let text = file[name]?.stringValue, !text.isEmpty else { throw failure("has no \(name)") }
            return text
        }
        email = try text("client_email")
        tokenURI = try text("token_uri")
        keyID = file["private_key_id"]?.stringValue
        guard let key = try? _RSA.Signing.PrivateKey(pemRepresentation: text("private_key")) else {
            throw failure("has a private_key that isn't an RSA key in PEM")
        }
        self.key = key
    }

    /// The key file that `GOOGLE_APPLICATION_CREDENTIALS` names; nil if the variable isn't set.
    ///
    /// - Throws: an error for the operator if the file can't be used.
    package init?(environment: [String: String]) throws(HostError) {
        guard let path = environment["GOOGLE_APPLICATION_CREDENTIALS"], !path.isEmpty else { return nil }
        try self.init(path: path)
    }

    /// A token with these claims, signed by the account (RS256).
    package func sign(_ claims: JSONObject) throws -> String {
        var header: JSONObject = ["alg": "RS256", "typ": "JWT"]
        header["kid"] = keyID.map(JSONValue.string)
        let signed = try [header, claims].map { Base64URL.encode(try JSONValue.object($0).serialized()) }
            .joined(separator: ".")
        let signature = try key.signature(for: SHA256.hash(data: Data(signed.utf8)), padding: .insecurePKCS1v1_5)
        return signed + "." + Base64URL.encode(Array(signature.rawRepresentation))
    }
}
