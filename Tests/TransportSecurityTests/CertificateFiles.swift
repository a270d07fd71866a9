import Crypto
import Foundation
import SwiftASN1
import TestSupport
@testable import TransportSecurity
import X509

/// A directory with a certificate and its key.
struct CertificateFiles: Sendable {
    static let now: Int64 = 1_800_000_000

    let directory: TemporaryDirectory
    var files: TLSFiles {
        TLSFiles(certificate: directory.file("cert.pem"), key: directory.file("key.pem"))
    }

    init(name: String = "first", days: Int = 90) throws {
        directory = try TemporaryDirectory()
        try write(name: name, days: days)
    }

    /// Replaces the files, or one of them.
    func write(
        name: String, days: Int = 90, certificate: Bool = true, key: Bool = true, keyMode: Int = 0o600
    ) throws {
        let pair = P256.Signing.PrivateKey()
        let subject = try DistinguishedName { CommonName(name) }
        let made = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: .init(pair.publicKey),
            notValidBefore: Date(timeIntervalSince1970: TimeInterval(Self.now - 86_400 * 365)),
            notValidAfter: Date(timeIntervalSince1970: TimeInterval(Self.now + Int64(days) * 86_400)), issuer: subject,
            subject: subject, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try .init { SubjectAlternativeNames([.dnsName("\(name).test"), .dnsName("*.\(name).test")]) },
            issuerPrivateKey: .init(pair))
        if certificate { try directory.write("cert.pem", try made.serializeAsPEM().pemString) }
        if key { try writeKey(pair.pemRepresentation, mode: keyMode) }
    }

    func writeKey(_ text: String, mode: Int = 0o600) throws {
        try directory.write("key.pem", text)
        try setKeyMode(mode)
    }

    func setKeyMode(_ mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: files.key)
    }
}
