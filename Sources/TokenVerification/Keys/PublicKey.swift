import Crypto
package import _CryptoExtras

/// An RSA public key that verifies signatures.
package struct PublicKey: Sendable {
    private let key: _RSA.Signing.PublicKey

    package init(_ key: _RSA.Signing.PublicKey) { self.key = key }

    /// Whether the signature is an RS256 signature (RSASSA-PKCS1-v1_5 with SHA-256) of these bytes.
    package func isValid(_ signature: [UInt8], for signed: UnsafeBufferPointer<UInt8>) -> Bool {
        var hash = SHA256()
        hash.update(bufferPointer: UnsafeRawBufferPointer(signed))
        return key.isValidSignature(
            .init(rawRepresentation: signature), for: hash.finalize(), padding: .insecurePKCS1v1_5)
    }
}

/// An issuer's public keys, by key id (`kid`).
package struct KeySet: Sendable {
    private var keys: [String: PublicKey]

    package init() { keys = [:] }

    init(_ keys: [String: PublicKey]) { self.keys = keys }

    subscript(_ keyID: String) -> PublicKey? { keys[keyID] }

    var isEmpty: Bool { keys.isEmpty }
}
