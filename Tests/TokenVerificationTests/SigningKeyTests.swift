import HostTesting
import TestSupport
@testable import TokenVerification
import Foundation
import SwiftASN1
import Testing
import X509

@Suite struct SigningKeyTests {
    @Test func keyIsCreatedOnceForItsOwnerOnly() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let folder = directory.path + "/data/auth"
        let first = try SigningKey.load(in: folder)
        let second = try SigningKey.load(in: folder)
        #expect(first.keyID == second.keyID)
        #expect(first.keyID.count == 40)
        let mode = try FileManager.default.attributesOfItem(atPath: folder + "/signing-key.pem")[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test(arguments: ["", "hello", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
    func damagedKeyIsRefusedAndKept(_ content: String) throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let path = directory.path + "/signing-key.pem"
        #expect(
            FileManager.default.createFile(
                atPath: path, contents: Data(content.utf8), attributes: [.posixPermissions: 0o600]))
        let error = #expect(throws: SigningKeyError.self) { try SigningKey.load(in: directory.path) }
        #expect(error?.description.hasPrefix("\(path) is damaged") == true)
        #expect(FileManager.default.contents(atPath: path) == Data(content.utf8))
    }

    @Test func worldReadableKeyIsRefused() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let path = directory.path + "/signing-key.pem"
        _ = try SigningKey.load(in: directory.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let error = #expect(throws: SigningKeyError.self) { try SigningKey.load(in: directory.path) }
        #expect(error?.description.contains("chmod 600 \(path)") == true)
    }

    @Test func certificateCarriesTheKeyAndIsReadAsGooglesAre() throws {
        let issuer = try TestIssuer.shared.get()
        let certificate = try Certificate(pemEncoded: issuer.key.certificate)
        #expect(certificate.publicKey.isValidSignature(certificate.signature, for: certificate))
        let body = try JSONSerialization.data(withJSONObject: [issuer.key.keyID: issuer.key.certificate])
        let keys = try KeyDocument.certificates.keys(in: Array(body))
        let verifier = TokenVerifier(
            kind: .idToken(project: TestIssuer.project), policy: .production, localKeys: keys, remoteKeys: nil,
            now: { TestIssuer.start })
        guard case .valid = verifier.verify(try issuer.token()) else {
            Issue.record("refused")
            return
        }
    }
}
