import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import StrictJSON
import TestSupport
@testable import ServiceAccounts
import Testing
import TokenVerification

@Suite struct TokenEndpointTests {
    private struct Nothing: HTTPResponder {
        func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
            Response(status: .init(code: 418))
        }
    }

    private static let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
    private let fixture: ServerTokenFixture

    init() throws { fixture = try ServerTokenFixture(try ServerAccount.shared.get()) }

    private func send(
        _ body: String, _ method: HTTPRequest.Method = .post, path: String = "/token"
    ) async throws -> (status: Int, body: JSONNode, headers: HTTPFields) {
        let port = TokenPort(TokenEndpoint(fixture.tokens), before: Nothing())
        return try await Application(responder: port).test(.router) { client in
            let response = try await client.execute(
                uri: path, method: method, headers: [.contentType: "application/x-www-form-urlencoded"],
                body: ByteBuffer(string: body))
            let bytes = Array(response.body.readableBytesView)
            return (
                response.status.code, bytes.isEmpty ? JSONNode(kind: .null, offset: 0) : try JSONNode(parsing: bytes),
                response.headers
            )
        }
    }

    @Test func assertionsAreExchanged() async throws {
        let assertion = try ServerAccount.shared.get().assertion()
        let (status, body, headers) = try await send("assertion=\(assertion)&\(Self.grant)")
        #expect(status == 200)
        #expect(body["expires_in"]?.seconds == 3600)
        #expect(body["token_type"]?.text == "Bearer")
        #expect(fixture.tokens.verify(try #require(body["access_token"]?.text)) != nil)
        #expect(headers[.cacheControl] == "no-store")
    }

    @Test(arguments: [
        ("", "invalid_request"), ("assertion=x", "invalid_request"), (grant, "invalid_request"),
        ("grant_type=refresh_token&assertion=x", "unsupported_grant_type"), ("\(grant)&assertion=x", "invalid_grant"),
        ("\(grant)&\(grant)&assertion=x", "invalid_request"), ("\(grant)&assertion=%zz", "invalid_request"),
    ])
    func errorsAreThoseOfOAuth(_ body: String, _ error: String) async throws {
        let (status, answer, _) = try await send(body)
        #expect(status == 400)
        #expect(answer["error"]?.text == error)
        #expect(answer["error_description"]?.text?.isEmpty == false)
    }

    @Test func largeBodiesAreRefused() async throws {
        #expect(try await send(String(repeating: "a", count: 70_000)).status == 413)
    }

    @Test func otherMethodsAreRefused() async throws {
        let (status, _, headers) = try await send("", .get)
        #expect(status == 405)
        #expect(headers[.allow] == "POST")
    }

    @Test func otherPathsAreThePorts() async throws {
        #expect(try await send("", path: "/token/x").status == 418)
    }
}
