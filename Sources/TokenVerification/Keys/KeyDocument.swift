import HostJSON
import TextFormats

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import SwiftASN1
import X509
import _CryptoExtras

/// The forms in which issuers publish their keys.
package enum KeyDocument: Hashable, Sendable {
    /// A JSON object of key id → X.509 certificate in PEM.
    case certificates
    /// A JSON Web Key Set: `{"keys": [{"kid", "kty": "RSA", "n", "e"}]}`.
    case webKeySet

    /// Reads the keys. Those of a kind we don't know are left out.
    ///
    /// The dates in certificates aren't looked at: the issuer takes a key back by no longer publishing it, and that is
    /// how Firebase's own libraries have it.
    ///
    /// - Throws: where no usable key is left.
    func keys(in body: [UInt8]) throws(KeySourceError) -> KeySet {
        guard let document = try? JSONParser.parse(body), case .object(let members) = document.kind else {
            throw KeySourceError("the issuer's answer is no JSON object")
        }
        var keys: [String: PublicKey] = [:]
        switch self {
        case .certificates:
            for member in members {
                guard let pem = member.value.text, let certificate = try? Certificate(pemEncoded: pem),
                    let key = _RSA.Signing.PublicKey(certificate.publicKey)
                else { continue }
                keys[member.key] = PublicKey(key)
            }
        case .webKeySet:
            guard case .array(let elements)? = document["keys"]?.kind else {
                throw KeySourceError("the issuer's answer has no list of keys")
            }
            for element in elements {
                guard element["kty"]?.isText("RSA") == true, element["use"]?.isText("sig") ?? true,
                    element["alg"]?.isText("RS256") ?? true, let keyID = element["kid"]?.text,
                    let modulus = element["n"]?.text.flatMap({ Base64URL.decode($0.utf8) }),
                    let exponent = element["e"]?.text.flatMap({ Base64URL.decode($0.utf8) }),
                    let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent)
                else { continue }
                keys[keyID] = PublicKey(key)
            }
        }
        guard !keys.isEmpty else { throw KeySourceError("the issuer's answer holds no usable key") }
        return KeySet(keys)
    }
}
