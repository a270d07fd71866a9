import DataDirectory
import Foundation
import _CryptoExtras

extension SigningKey {
    /// Loads the key from `signing-key.pem` in a directory, or creates it at the first start.
    ///
    /// The file is written under a temporary name, synced and then renamed, so that a crash leaves either no key or a
    /// complete one. Creating a key takes a few tenths of a second.
    ///
    /// - Parameter directory: Usually `<data>/auth`; created for its owner alone if it doesn't exist.
    /// - Throws: an error for the operator if the file is damaged, is readable by others, or can't be read or
    ///   written. A damaged key is never replaced automatically, because tokens signed with it would suddenly be
    ///   refused.
    package static func load(in directory: String, now: WallClock = systemWallClock) throws -> SigningKey {
        let path = directory + "/signing-key.pem"
        let files = FileManager.default
        if files.fileExists(atPath: path) {
            let mode = try files.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            guard let mode, mode & 0o007 == 0 else {
                throw SigningKeyError("\(path) is readable by every user of this machine; run: chmod 600 \(path)")
            }
            guard let pem = files.contents(atPath: path) else {
                throw SigningKeyError("\(path) can't be read; it must belong to the user that runs the host")
            }
            guard let key = try? _RSA.Signing.PrivateKey(pemRepresentation: String(decoding: pem, as: UTF8.self)) else {
                throw SigningKeyError(
                    """
                    \(path) is damaged: it is not an RSA private key of 2048 bits or more in PEM. Restore it from a \
                    backup, or delete it: the host then creates a new key, and tokens signed with the old one are \
                    refused until clients refresh them
                    """)
            }
            return try SigningKey(key, issued: now())
        }
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        try files.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let pem = key.pkcs8PEMRepresentation
        try FileBytes.replace(
            "signing-key.pem", in: directory, with: Array((pem.hasSuffix("\n") ? pem : pem + "\n").utf8))
        return try SigningKey(key, issued: now())
    }
}

/// Why the signing key can't be loaded, and what to do.
package struct SigningKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for the operator.
    package var description: String

    init(_ description: String) { self.description = description }
}
