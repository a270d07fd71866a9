import HTTPTypes
package import Hummingbird
import NIOCore
import StrictJSON
import TextFormats

/// `POST /token`: access tokens for servers with a key file (RFC 6749, section 5; RFC 7523, section 2.1).
package struct TokenEndpoint: Sendable {
    package static let path = "/token"

    private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// An assertion has at most 16 KiB, and in a form up to three times as much.
    private static let maxBytes = 64 * 1024

    private let tokens: ServerTokens

    package init(_ tokens: ServerTokens) { self.tokens = tokens }

    package func respond(to request: Request) async -> Response {
        guard request.method == .post else {
            var response = Self.error(
                .methodNotAllowed, "invalid_request", "send POST with grant_type and assertion as a form")
            response.headers[.allow] = "POST"
            return response
        }
        let fields: [String: String]
        do {
            var body = try await request.body.collect(upTo: Self.maxBytes)
            guard let read = Self.form(body.readBytes(length: body.readableBytes) ?? []) else {
                return Self.error(.badRequest, "invalid_request", "the body is not a form, or repeats a field")
            }
            fields = read
        } catch let error as any HTTPResponseError where error.status == .contentTooLarge {
            return Self.error(.contentTooLarge, "invalid_request", "the body is larger than \(Self.maxBytes) bytes")
        } catch {
            return Self.error(.badRequest, "invalid_request", "the body was not received")
        }
        guard let type = fields["grant_type"] else {
            return Self.error(.badRequest, "invalid_request", "the field grant_type is missing")
        }
        guard type == Self.grantType else {
            return Self.error(.badRequest, "unsupported_grant_type", "the only grant_type is \(Self.grantType)")
        }
        guard let assertion = fields["assertion"] else {
            return Self.error(.badRequest, "invalid_request", "the field assertion is missing")
        }
        do throws(ServerAssertion.Refusal) {
            let token = try tokens.exchange(assertion)
            var writer = JSONWriter()
            writer.raw(#"{"access_token":"#)
            writer.string(token)
            writer.raw(#","expires_in":"#)
            writer.integer(AccessTokenSecret.lifetime)
            writer.raw(#","token_type":"Bearer"}"#)
            return Self.json(.ok, writer)
        } catch {
            return Self.error(.badRequest, "invalid_grant", error.description)
        }
    }

    /// - Returns: nil if the body isn't a form, or has a field twice, which RFC 6749 forbids.
    private static func form(_ bytes: [UInt8]) -> [String: String]? {
        guard let pairs = FormFields.pairs(bytes) else { return nil }
        var fields: [String: String] = [:]
        for (name, value) in pairs where fields.updateValue(value, forKey: name) != nil { return nil }
        return fields
    }

    private static func error(_ status: HTTPResponse.Status, _ error: String, _ description: String) -> Response {
        var writer = JSONWriter()
        writer.raw(#"{"error":"#)
        writer.string(error)
        writer.raw(#","error_description":"#)
        writer.string(description)
        writer.raw("}")
        return json(status, writer)
    }

    /// No cache may keep a token (RFC 6749, section 5.1).
    private static func json(_ status: HTTPResponse.Status, _ writer: JSONWriter) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: writer.bytes)))
    }
}

/// A port's responder with `/token` before it.
package struct TokenPort<Next: HTTPResponder>: HTTPResponder {
    package typealias Context = Next.Context

    private let endpoint: TokenEndpoint
    private let next: Next

    package init(_ endpoint: TokenEndpoint, before next: Next) {
        self.endpoint = endpoint
        self.next = next
    }

    package func respond(to request: Request, context: Context) async throws -> Response {
        guard request.uri.path == TokenEndpoint.path else {
            return try await next.respond(to: request, context: context)
        }
        return await endpoint.respond(to: request)
    }
}
