import Foundation
import TestSupport
@testable import TransportSecurity
import Testing

@Suite struct TLSFilesTests {
    private let made: CertificateFiles

    init() throws { made = try CertificateFiles(name: "shop") }

    private func problem() -> TLSFilesError? {
        do throws(TLSFilesError) {
            _ = try made.files.load()
            return nil
        } catch {
            return error
        }
    }

    @Test func aPairIsLoaded() throws {
        let credentials = try made.files.load()
        #expect(credentials.names == ["shop.test", "*.shop.test"])
        #expect(credentials.expires == CertificateFiles.now + 90 * 86_400)
        #expect(Set(credentials.contexts.keys) == Set(TLSProtocols.allCases))
    }

    @Test func missingFilesAreNamed() throws {
        try FileManager.default.removeItem(atPath: made.files.key)
        #expect(problem()?.file == .key)
        #expect(problem()?.description == "the file \(made.files.key) does not exist or can't be read")
        try FileManager.default.removeItem(atPath: made.files.certificate)
        #expect(problem()?.file == .certificate)
    }

    @Test(arguments: ["", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func whatIsNoCertificateIsRefused(_ text: String) throws {
        try made.directory.write("cert.pem", text)
        #expect(problem()?.file == .certificate)
        #expect(problem()?.description.contains("no certificate in PEM") == true)
    }

    @Test(arguments: ["", "no PEM", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
    func whatIsNoKeyIsRefused(_ text: String) throws {
        try made.writeKey(text)
        #expect(problem()?.file == .key)
        #expect(problem()?.description.contains("no private key in PEM") == true)
    }

    @Test func aKeyMustFitTheCertificate() throws {
        try made.write(name: "other", certificate: false)
        #expect(problem()?.file == .key)
        #expect(
            problem()?.description == "\(made.files.key) is not the key of the certificate \(made.files.certificate)")
    }

    @Test func aKeyMustNotBeReadableByEveryone() throws {
        let text = String(decoding: FileManager.default.contents(atPath: made.files.key) ?? Data(), as: UTF8.self)
        try made.writeKey(text, mode: 0o644)
        #expect(problem()?.description.contains("chmod 600") == true)
        try made.writeKey(text, mode: 0o640)
        #expect(problem() == nil)
    }
}
