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

    private static let audience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
    private static let lifetime: Int64 = 3600
    private static let limits = OutboundLimits(maxBytes: 64 * 1024, whole: .seconds(30))

    /// The names that claims of custom tokens can't have.
    static let reserved = [
        "acr", "amr", "at_hash", "aud", "auth_time", "azp", "cnf", "c_hash", "exp", "firebase", "iat", "iss", "jti",
        "nbf", "nonce", "sub",
    ]

    let key: Key
    let now: WallClock

    func token(for uid: String, claims: JSONObject?) async throws(OutboundError) -> String {
        switch key {
        case .none:
            return Self.unsigned(payload(uid, claims, of: "firebase-auth-emulator@example.com"), "none") + "."
        case .file(let file):
            do {
                return try file.sign(payload(uid, claims, of: file.email))
            } catch {
                throw OutboundError(.notSent, host: file.email, "the key can't sign")
            }
        case .cloud(let metadata, let tokens, let transport):
            let account = try await metadata.serviceAccount()
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
    ) async throws(OutboundError) -> String {
        let host = "iamcredentials.googleapis.com"
        let body: JSONObject = ["payload": .string(Base64.encode(Array(text.utf8)))]
        let token = try await tokens.token()
        var request = OutboundRequest(
            to: "https://\(host)/v1/projects/-/serviceAccounts/\(PercentEncoding.encoded(account)):signBlob",
            headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"],
            body: JSONValue.object(body).utf8, limits: limits)
        var answer = try await transport.send(request)
        if answer.status == 401 {
            request.headers["Authorization"] = "Bearer \(try await tokens.token(insteadOf: token))"
            answer = try await transport.send(request)
        }
        guard answer.status < 500, answer.status != 429 else {
            throw OutboundError(.lost, host: host, "signBlob returned status \(answer.status)")
        }
        guard answer.status == 200 else {
            throw OutboundError(
                .notSent, host: host,
                "signBlob returned status \(answer.status). Give \(account) the role Service Account Token Creator on "
                    + "itself and enable the IAM Service Account Credentials API, or set GOOGLE_APPLICATION_CREDENTIALS "
                    + "to a key file")
        }
        guard let signature = (try? JSONValue(parsing: answer.body))?["signedBlob"]?.stringValue,
            let bytes = Base64.decode(signature)
        else { throw OutboundError(.lost, host: host, "signBlob's answer has no signature") }
        return Base64URL.encode(bytes)
    }
}
