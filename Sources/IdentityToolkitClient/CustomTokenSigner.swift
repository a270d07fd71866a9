import DocumentModel
import FirestoreClient
import OutboundHTTP
import StrictJSON
import TextFormats
import TokenVerification

/// Signs custom tokens as the process's service account.
struct CustomTokenSigner: Sendable {
    enum Key: Sendable {
        /// The emulator takes tokens without a signature.
        case none
        case file(ServiceAccountFile)
        /// The account of the metadata server, whose key Google's IAM keeps and signs with.
        case cloud(MetadataServer, AccessTokens, any OutboundTransport)
    }

    /// Why a token isn't signed.
    enum Failure: Error, CustomStringConvertible {
        /// The operator has to change something: the service account, its key or its role.
        case notConfigured(String)
        /// A service that signing needs can't be reached, or has failed for the moment.
        case unavailable(OutboundError)

        var description: String {
            switch self {
            case .notConfigured(let reason): reason
            case .unavailable(let error): "\(error)"
            }
        }
    }

    private static let audience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
    /// Of Google's IAM.
    private static let host = "iamcredentials.googleapis.com"
    private static let lifetime: Int64 = 3600
    private static let keyAdvice =
        "Outside of Google Cloud, set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account"
    private static let limits = OutboundLimits(maxBytes: 64 * 1024, whole: .seconds(30))

    /// The names that claims of custom tokens can't have.
    static let reserved = [
        "acr", "amr", "at_hash", "aud", "auth_time", "azp", "cnf", "c_hash", "exp", "firebase", "iat", "iss", "jti",
        "nbf", "nonce", "sub",
    ]

    let key: Key
    let now: WallClock

    func token(for uid: String, claims: JSONObject?) async throws(Failure) -> String {
        switch key {
        case .none:
            return Self.unsigned(payload(uid, claims, of: "firebase-auth-emulator@example.com"), "none") + "."
        case .file(let file):
            do {
                return try file.sign(payload(uid, claims, of: file.email))
            } catch {
                throw .notConfigured("\(file.email): the key can't sign")
            }
        case .cloud(let metadata, let tokens, let transport):
            let named: String?
            do throws(OutboundError) {
                named = try await metadata.serviceAccount()
            } catch {
                throw .unavailable(
                    OutboundError(
                        error.kind, host: error.host,
                        "the account that signs custom tokens is unknown: \(error.reason). \(Self.keyAdvice)"))
            }
            guard let account = named else {
                throw .notConfigured("the metadata server names no service account. \(Self.keyAdvice)")
            }
            let text = Self.unsigned(payload(uid, claims, of: account), "RS256")
            return text + "." + (try await Self.sign(text, as: account, tokens, transport))
        }
    }

    private func payload(_ uid: String, _ claims: JSONObject?, of account: String) -> JSONObject {
        let now = now()
        var payload: JSONObject = [
            "iss": .string(account), "sub": .string(account), "aud": .string(Self.audience), "iat": .integer(now),
            "exp": .integer(now + Self.lifetime), "uid": .string(uid),
        ]
        payload["claims"] = claims.map(JSONValue.object)
        return payload
    }

    private static func unsigned(_ payload: JSONObject, _ algorithm: String) -> String {
        let header: JSONObject = ["alg": .string(algorithm), "typ": "JWT"]
        return [header, payload].map { Base64URL.encode(JSONValue.object($0).utf8) }.joined(separator: ".")
    }

    /// The signature by IAM's `signBlob`, which the account needs the role Service Account Token Creator for.
    private static func sign(
        _ text: String, as account: String, _ tokens: AccessTokens, _ transport: any OutboundTransport
    ) async throws(Failure) -> String {
        let answer: OutboundResponse
        do throws(OutboundError) {
            answer = try await signBlob(text, as: account, tokens, transport)
        } catch {
            throw .unavailable(error)
        }
        guard answer.status < 500, answer.status != 429 else {
            throw .unavailable(OutboundError(.lost, host: host, "signBlob returned status \(answer.status)"))
        }
        guard answer.status == 200 else {
            throw .notConfigured(
                "\(host): signBlob returned status \(answer.status). Give \(account) the role Service Account Token "
                    + "Creator on itself and enable the IAM Service Account Credentials API, or set "
                    + "GOOGLE_APPLICATION_CREDENTIALS to a key file")
        }
        guard let signature = (try? JSONValue(parsing: answer.body))?["signedBlob"]?.stringValue,
            let bytes = Base64.decode(signature)
        else { throw .unavailable(OutboundError(.lost, host: host, "signBlob's answer has no signature")) }
        return Base64URL.encode(bytes)
    }

    private static func signBlob(
        _ text: String, as account: String, _ tokens: AccessTokens, _ transport: any OutboundTransport
    ) async throws(OutboundError) -> OutboundResponse {
        let body: JSONObject = ["payload": .string(Base64.encode(Array(text.utf8)))]
        let token = try await tokens.token()
        var request = OutboundRequest(
            to: "https://\(host)/v1/projects/-/serviceAccounts/\(PercentEncoding.encoded(account)):signBlob",
            headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"],
            body: JSONValue.object(body).utf8, limits: limits)
        let answer = try await transport.send(request)
        guard answer.status == 401 else { return answer }
        request.headers["Authorization"] = "Bearer \(try await tokens.token(insteadOf: token))"
        return try await transport.send(request)
    }
}
