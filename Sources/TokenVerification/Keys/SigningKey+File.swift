import DataDirectory
import Foundation
import _CryptoExtras

extension SigningKey {
    /// Loads the key from `signing-key.pem` in a directory, or makes a key and the file at the first start.
    ///
    /// The file is written beside its place, synced and then renamed, so that a crash leaves either no key or a whole
    /// one. Making a key takes some tenths of a second.
    ///
    /// - Parameter directory: Usually `<data>/auth`; made, for its owner alone, where it isn't there.
    /// - Throws: a sentence where the file is damaged, can be read by everybody, or can't be read or written. A damaged
    ///   key is never replaced by itself: tokens signed with it would be refused from one moment to the next.
    package static func load(in directory: String, now: WallClock = systemWallClock) throws -> SigningKey {
        let path = directory + "/signing-key.pem"
        let files = FileManager.default
        if files.fileExists(atPath: path) {
            let mode = try files.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            guard let mode, mode & 0o007 == 0 else {
                throw SigningKeyError("\(path) can be read by everybody on this machine; run: chmod 600 \(path)")
            }
            guard let pem = files.contents(atPath: path) else {
                throw SigningKeyError("\(path) can't be read; it must belong to the user that runs the host")
            }
            guard let key = try? _RSA.Signing.PrivateKey(pemRepresentation: String(decoding: pem, as: UTF8.self)) else {
                throw SigningKeyError(
                    """
                    \(path) is damaged: it holds no RSA private key of 2048 bits or more in PEM. Put it back from a \
                    backup, or delete it: the host then makes a new key, and tokens signed with the old one are \
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

/// Why the host has no key to sign with, and what to do.
package struct SigningKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for the operator.
    package var description: String

    init(_ description: String) { self.description = description }
}
