import DataDirectory
import Foundation
import NIOSSL

/// The files of a certificate and of its private key, both in PEM.
package struct TLSFiles: Hashable, Sendable {
    /// The certificate, followed by those of its issuers.
    package var certificate: String
    package var key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// What the files contain, whether or not it can be used.
    struct Content: Equatable {
        var certificate: Data?
        var key: Data?
        /// Whether every user can read the key. It is a part, so that a change of the permissions is a change.
        var isKeyOpen: Bool
    }

    /// More than any certificate with its chain has.
    private static let maxBytes = 1 << 20

    func read() -> Content {
        Content(
            certificate: Self.read(certificate), key: Self.read(key),
            isKeyOpen: FileStatus(key)?.isOpenToEveryone ?? false)
    }

    /// - Returns: nil if the file can't be read.
    private static func read(_ path: String) -> Data? {
        guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? handle.close() }
        do { return try handle.read(upToCount: maxBytes) ?? Data() } catch { return nil }
    }

    /// Loads the files.
    ///
    /// - Throws: what is wrong with one of them, in a sentence for the operator.
    package func load() throws(TLSFilesError) -> TLSCredentials { try load(read()) }

    func load(_ content: Content) throws(TLSFilesError) -> TLSCredentials {
        guard let certificateBytes = content.certificate else {
            throw TLSFilesError(.certificate, "the file \(certificate) does not exist or can't be read")
        }
        guard let keyBytes = content.key else {
            throw TLSFilesError(.key, "the file \(key) does not exist or can't be read")
        }
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(Array(certificateBytes)), !chain.isEmpty else {
            throw TLSFilesError(
                .certificate,
                "\(certificate) has no certificate in PEM; it must begin with -----BEGIN CERTIFICATE-----")
        }
        guard !content.isKeyOpen else {
            throw TLSFilesError(.key, "\(key) is readable by every user of this machine; run: chmod 600 \(key)")
        }
        guard let key = try? NIOSSLPrivateKey(bytes: Array(keyBytes), format: .pem) else {
            throw TLSFilesError(
                .key,
                "\(key) has no private key in PEM without a passphrase; it must begin with -----BEGIN PRIVATE KEY-----")
        }
        do {
            return try TLSCredentials(chain, key)
        } catch {
            throw TLSFilesError(.key, "\(self.key) is not the key of the certificate \(certificate)")
        }
    }
}

/// Why a certificate and its key can't be used.
package struct TLSFilesError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum File: String, Sendable {
        case certificate, key
    }

    package let file: File
    /// A sentence for the operator.
    package let description: String

    init(_ file: File, _ description: String) {
        self.file = file
        self.description = description
    }
}
