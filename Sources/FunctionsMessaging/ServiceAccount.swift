import _CryptoExtras
import DocumentModel
import FunctionsHTTPClient
import FunctionsRuntime
import StrictJSON
import Synchronization
import TextFormats

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A service account of a Google Cloud project, which calls Google's APIs for a function.
///
///     let account = try ServiceAccount(json: accountKey.value)
///     let token = try await account.accessToken(scopes: ["https://www.googleapis.com/auth/cloud-platform"])
///     let answer = try await fetch(url, headers: ["Authorization": "Bearer \(token)"])
public struct ServiceAccount: Sendable, CustomStringConvertible, CustomReflectable {
    /// The project that the account belongs to.
    public let projectID: String
    public let email: String
    private let privateKey: String
    private let tokenURL: String

    /// - Parameter json: The content of the key file that Google's console exports.
    /// - Throws: ``ServiceAccountError`` that names the member which is missing or wrong.
    public init(json: String) throws {
        guard let file = try? JSONValue(parsing: Array(json.utf8)), case .object = file else {
            throw ServiceAccountError("it isn't a JSON object")
        }
        func text(_ name: String) throws -> String {
            guard let text = file[name]?.stringValue, !text.isEmpty else {
                throw ServiceAccountError("\(name): expected a text")
            }
            return text
        }
        projectID = try text("project_id")
        email = try text("client_email")
        privateKey = try text("private_key")
        tokenURL = try text("token_uri")
    }

    /// The e-mail address; never the key.
    public var description: String { email }

    public var customMirror: Mirror { Mirror(self, children: ["email": email, "projectID": projectID]) }

    private struct Kept {
        var token: String
        var expires: ContinuousClock.Instant
    }

    private static let kept = Mutex<[[String]: Kept]>([:])
    private static let maxKept = 100
    /// A token is replaced this long before it expires.
    private static let margin = Duration.seconds(300)

    /// An access token for Google's APIs (RFC 7523). Tokens are kept in this process and shared by all invocations until
    /// shortly before they expire; while `withFetch` answers requests, none is kept.
    ///
    /// A service that refuses a token with 401 before that has revoked it: see ``forget(token:)``.
    ///
    /// - Parameter scopes: URLs such as `https://www.googleapis.com/auth/cloud-platform`.
    /// - Throws: ``ServiceAccountError`` if the private key can't sign; what `fetch` throws if there is no token.
    public func accessToken(scopes: [String]) async throws -> String {
        let key = [email, tokenURL, privateKey] + scopes
        let known = Self.kept.withLock { $0[key] }
        if let known, known.expires > .now, !isFetchAnswered { return known.token }

        struct Answer: Decodable {
            var access_token: String
            var expires_in: Int
        }
        let answer = try await fetch(
            tokenURL,
            body: .form([
                "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
                "assertion": try assertion(scopes: scopes, at: .now),
            ])
        ).requireSuccess().json(as: Answer.self)
        guard !isFetchAnswered else { return answer.access_token }
        let expires = ContinuousClock.now + .seconds(min(max(0, answer.expires_in), 86_400)) - Self.margin
        Self.kept.withLock { kept in
            if kept.count >= Self.maxKept { kept = kept.filter { $0.value.expires > .now } }
            if kept.count < Self.maxKept { kept[key] = Kept(token: answer.access_token, expires: expires) }
        }
        return answer.access_token
    }

    /// Keeps a token no longer, because a service has refused it. The next ``accessToken(scopes:)`` fetches another.
    public func forget(token: String) {
        Self.kept.withLock { kept in kept = kept.filter { $0.value.token != token } }
    }

    /// A token that the account's key signs, which is exchanged for an access token.
    func assertion(scopes: [String], at now: Timestamp) throws -> String {
        let claims: JSONValue = [
            "iss": .string(email), "scope": .string(scopes.joined(separator: " ")), "aud": .string(tokenURL),
            "iat": .integer(now.seconds), "exp": .integer(now.seconds + 3600),
        ]
        let head = Base64URL.encode(Array(#"{"alg":"RS256","typ":"JWT"}"#.utf8))
        let signed = "\(head).\(Base64URL.encode(try claims.serialized()))"
        let signature: _RSA.Signing.RSASignature
        do {
            let key = try _RSA.Signing.PrivateKey(pemRepresentation: privateKey)
            signature = try key.signature(for: Data(signed.utf8), padding: .insecurePKCS1v1_5)
        } catch {
            // The error's text may hold a part of the key.
            throw ServiceAccountError("private_key: it isn't an RSA key in PEM")
        }
        return "\(signed).\(Base64URL.encode(Array(signature.rawRepresentation)))"
    }
}

/// Why the key file of a service account can't be used, without its content.
public struct ServiceAccountError: Error, CustomStringConvertible {
    public let message: String

    init(_ message: String) { self.message = message }

    public var description: String { "the service account: \(message)" }
}
