import HostTesting
import OutboundHTTP
import TestSupport
import TextFormats
@testable import TokenVerification
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing
import _CryptoExtras

@Suite struct RemoteKeySourceTests {
    /// Fetches keys from a server with this response.
    private func fetch(
        status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], body: String,
        document: KeyDocument = .certificates, fixedAge: Int64? = nil
    ) async throws -> Result<FetchedKeys, KeySourceError> {
        let router = Router()
        router.get("keys") { _, _ in
            Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: body)))
        }
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        return try await application.test(.live) { client in
            let port = try #require(client.port)
            let source = RemoteKeySource(
                address: "http://127.0.0.1:\(port)/keys", document: document, fixedAge: fixedAge,
                transport: OutboundClient(clock: ManualClock()))
            do throws(KeySourceError) {
                return .success(try await source.fetch())
            } catch {
                return .failure(error)
            }
        }
    }

    private func certificates() throws -> String {
        let key = try TestIssuer.shared.get().key
        let body: [String: String] = [key.keyID: key.certificate, "of a kind we don't know": "PEM"]
        return String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
    }

    private func accepts(_ keys: KeySet, _ issuer: TestIssuer) throws -> Bool {
        let verifier = TokenVerifier(
            kind: .idToken(project: TestIssuer.project), policy: .production, localKeys: LocalKeys(keys),
            remoteKeys: nil,
            now: { TestIssuer.start })
        guard case .valid = verifier.verify(try issuer.token()) else { return false }
        return true
    }

    private static let ages: [(HTTPFields, Int64)] = [
        ([.cacheControl: "public, max-age=19302, must-revalidate, no-transform"], 19_302),
        ([.cacheControl: "max-age=600", .age: "100"], 500), ([.cacheControl: "no-cache"], 3600), ([:], 3600),
        ([.cacheControl: "max-age=99999999999999999999999"], 3600),
        ([.cacheControl: "max-age=9223372036854775807"], 2_592_000),
        ([.cacheControl: "max-age=-9223372036854775808", .age: "1"], 0),
        ([.cacheControl: "max-age=600", .age: "9223372036854775807"], 0),
        ([.cacheControl: "max-age=600", .age: "-9223372036854775808"], 600),
    ]

    @Test(arguments: ages)
    func certificatesAreKeptForTheirAge(_ headers: HTTPFields, _ age: Int64) async throws {
        let fetched = try await fetch(headers: headers, body: certificates()).get()
        #expect(fetched.maxAge == age)
        #expect(try accepts(fetched.keys, TestIssuer.shared.get()))
    }

    @Test func webKeySetIsReadAndKeptForAFixedAge() async throws {
        let issuer = try TestIssuer.shared.get()
        let numbers = try issuer.privateKey.publicKey.getKeyPrimitives()
        let body = """
            {"keys":[{"kty":"EC","kid":"other"},{"kty":"RSA","use":"sig","alg":"RS256","kid":"\(issuer.key.keyID)",\
            "n":"\(Base64URL.encode(numbers.modulus))","e":"\(Base64URL.encode(numbers.publicExponent))"}]}
            """
        let fetched = try await fetch(
            headers: [.cacheControl: "max-age=5"], body: body, document: .webKeySet, fixedAge: 21_600
        ).get()
        #expect(fetched.maxAge == 21_600)
        #expect(try accepts(fetched.keys, issuer))
    }

    @Test(arguments: [
        "", "<html>", "[]", "{}", #"{"kid":"no certificate"}"#, #"{"kid":7}"#, #"{"keys":[]}"#, #"{"keys":{}}"#,
    ])
    func garbageIsRefused(_ body: String) async throws {
        for document in [KeyDocument.certificates, .webKeySet] {
            let result = try await fetch(body: body, document: document)
            #expect(throws: KeySourceError.self) { try result.get() }
        }
    }

    @Test func statusOtherThanOKIsRefused() async throws {
        for status in [HTTPResponse.Status.internalServerError, .notFound, .accepted] {
            let result = try await fetch(status: status, body: certificates())
            #expect(throws: KeySourceError("the issuer returned status \(status.code)")) { try result.get() }
        }
    }

    @Test func redirectIsNotFollowed() async throws {
        let result = try await fetch(status: .found, headers: [.location: "/keys?again"], body: certificates())
        #expect(throws: KeySourceError("the issuer returned status 302")) { try result.get() }
    }

    @Test func answerBeyondAMegabyteIsRefused() async throws {
        let result = try await fetch(body: String(repeating: " ", count: 1024 * 1024) + certificates())
        #expect {
            try result.get()
        } throws: {
            "\($0)".hasSuffix(": the response is larger than 1048576 bytes")
        }
    }

    @Test func unreachableIssuerIsAnError() async throws {
        let source = RemoteKeySource(address: "http://127.0.0.1:1/keys", document: .certificates)
        await #expect(throws: KeySourceError.self) { try await source.fetch() }
    }

    @Test func demoProjectsNeverFetchGooglesKeys() {
        #expect(!RemoteKeySource.isUseful(forProject: "demo-shop"))
        #expect(RemoteKeySource.isUseful(forProject: "shop-prod"))
    }
}
