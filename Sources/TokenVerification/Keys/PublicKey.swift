import Crypto
package import _CryptoExtras

/// A public key that verifies signatures.
package struct PublicKey: Sendable {
    private enum Key: Sendable {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)
    }

    private let key: Key

    package init(_ key: _RSA.Signing.PublicKey) { self.key = .rsa(key) }

    init(_ key: P256.Signing.PublicKey) { self.key = .p256(key) }

    /// `alg` of the tokens that the key signs.
    package var algorithm: String {
        switch key {
        case .rsa: "RS256"
        case .p256: "ES256"
        }
    }

    /// Whether the signature is one of these bytes by the key's algorithm: RSASSA-PKCS1-v1_5 or ECDSA on P-256 (RFC 7518,
    /// section 3.4: r and s, 32 bytes each), both with SHA-256.
    ///
    /// - Parameter algorithm: `alg` of the token: false for any but the key's own.
    package func isValid(
        _ signature: [UInt8], for signed: UnsafeBufferPointer<UInt8>, algorithm: String = "RS256"
    ) -> Bool {
        guard algorithm == self.algorithm else { return false }
        var hash = SHA256()
        hash.update(bufferPointer: UnsafeRawBufferPointer(signed))
        switch key {
        case .rsa(let key):
            return key.isValidSignature(
                .init(rawRepresentation: signature), for: hash.finalize(), padding: .insecurePKCS1v1_5)
        case .p256(let key):
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: hash.finalize())
        }
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
