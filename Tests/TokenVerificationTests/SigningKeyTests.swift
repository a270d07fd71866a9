import HostTesting
@testable import TokenVerification
import Foundation
import SwiftASN1
import Testing
import X509

@Suite struct SigningKeyTests {
    @Test func certificateCarriesTheKeyAndIsReadAsGooglesAre() throws {
        let issuer = try TestIssuer.shared.get()
        let certificate = try Certificate(pemEncoded: issuer.key.certificate)
        #expect(certificate.publicKey.isValidSignature(certificate.signature, for: certificate))
        let body = try JSONSerialization.data(withJSONObject: [issuer.key.keyID: issuer.key.certificate])
        let keys = try KeyDocument.certificates.keys(in: Array(body))
        let verifier = TokenVerifier(
            kind: .idToken(project: TestIssuer.project), policy: .production, localKeys: LocalKeys(keys),
            remoteKeys: nil,
            now: { TestIssuer.start })
        guard case .valid = verifier.verify(try issuer.token()) else {
            Issue.record("refused")
            return
        }
    }
}
