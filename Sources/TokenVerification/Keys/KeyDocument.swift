import Crypto
import StrictJSON
import TextFormats

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import SwiftASN1
import X509
import _CryptoExtras

/// The formats in which issuers publish their keys.
package enum KeyDocument: Hashable, Sendable {
    /// A JSON object of key id → X.509 certificate in PEM.
    case certificates
    /// A JSON Web Key Set: `{"keys": [{"kid", "kty": "RSA", "n", "e"}]}`, or `{"kid", "kty": "EC", "crv": "P-256", "x", "y"}`.
    case webKeySet

    /// Reads the keys. Keys of unknown types are skipped.
    ///
    /// The validity dates of certificates are ignored, as in Firebase's own libraries: an issuer revokes a key by no
    /// longer publishing it.
    ///
    /// - Throws: if there is no usable key.
    func keys(in body: [UInt8]) throws(KeySourceError) -> KeySet {
        guard let document = try? JSONNode(parsing: body), case .object(let members) = document.kind else {
            throw KeySourceError("the issuer's response is not a JSON object")
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
                throw KeySourceError("the issuer's response has no list of keys")
            }
            for element in elements {
                guard element["use"]?.isText("sig") ?? true, let keyID = element["kid"]?.text,
                    let key = Self.key(of: element), element["alg"]?.isText(key.algorithm) ?? true
                else { continue }
                keys[keyID] = key
            }
        }
        guard !keys.isEmpty else { throw KeySourceError("the issuer's response contains no usable key") }
        return KeySet(keys)
    }

    /// The key of an element of a key set; nil for a type that can't verify tokens.
    private static func key(of element: JSONNode) -> PublicKey? {
        func bytes(_ name: String) -> [UInt8]? { element[name]?.text.flatMap { Base64URL.decode($0.utf8) } }
        if element["kty"]?.isText("RSA") == true, let modulus = bytes("n"), let exponent = bytes("e") {
            return (try? _RSA.Signing.PublicKey(n: modulus, e: exponent)).map { PublicKey($0) }
        }
        if element["kty"]?.isText("EC") == true, element["crv"]?.isText("P-256") == true, let x = bytes("x"),
            let y = bytes("y")
        {
            return (try? P256.Signing.PublicKey(rawRepresentation: x + y)).map { PublicKey($0) }
        }
        return nil
    }
}

/// The path of the certificates for ID tokens, both at Google and on this host.
package enum IDTokenCertificates {
    package static let path = "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
}
