import Crypto
import _CryptoExtras

/// An RSA key that signatures are checked with.
package struct PublicKey: Sendable {
    private let key: _RSA.Signing.PublicKey

    init(_ key: _RSA.Signing.PublicKey) { self.key = key }

    /// Whether the signature is RS256's (RSASSA-PKCS1-v1_5 with SHA-256) of these bytes.
    func isValid(_ signature: [UInt8], for signed: UnsafeBufferPointer<UInt8>) -> Bool {
        var hash = SHA256()
        hash.update(bufferPointer: UnsafeRawBufferPointer(signed))
        return key.isValidSignature(
            .init(rawRepresentation: signature), for: hash.finalize(), padding: .insecurePKCS1v1_5)
    }
}
