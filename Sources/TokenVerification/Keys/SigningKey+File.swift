import DataDirectory
import Foundation
import _CryptoExtras

extension SigningKey {
    /// Loads the key from a file, or creates it if there is none.
    ///
    /// - Throws: a ``SigningKeyError`` if the file is damaged or readable by others.
    package static func load(_ file: String, in directory: String, now: WallClock) throws -> SigningKey {
        let path = directory + "/" + file
        let files = FileManager.default
        guard files.fileExists(atPath: path) else { return try create(file, in: directory, now: now) }
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

    /// Creates a key, and replaces the file with it. A crash leaves the former file or a complete new one.
    static func create(_ file: String, in directory: String, now: WallClock) throws -> SigningKey {
        let key = try SigningKey(try _RSA.Signing.PrivateKey(keySize: .bits2048), issued: now())
        try FileBytes.makeDirectory(directory)
        try FileBytes.replace(file, in: directory, with: key.pem)
        return key
    }
}

/// Why a signing key can't be loaded or rotated, and what to do.
package struct SigningKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for the operator.
    package var description: String

    package init(_ description: String) { self.description = description }
}
