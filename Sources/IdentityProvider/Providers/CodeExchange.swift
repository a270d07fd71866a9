import Logging
import OutboundHTTP
import StrictJSON
import TextFormats
import TokenVerification

/// Exchanges the code that a browser brings back from a provider for the user's tokens (RFC 6749, section 4.1.3).
///
/// The provider gives them for the code, the address that it was sent to, which is this host's page alone, the client's
/// secret, which never leaves this host, and the verifier, which the window has that left for the provider (RFC 7636).
struct CodeExchange: Sendable {
    struct Tokens: Hashable, Sendable {
        var idToken: String?
        var accessToken: String?
        var refreshToken: String?
        /// When the access token expires, in seconds from now.
        var expiresIn: Int64?
    }

    /// How the secret is sent.
    enum SecretPlace: Hashable, Sendable, CaseIterable {
        /// RFC 6749, section 2.3.1: what a server must support.
        case header
        case form
    }

    private static let limits = OutboundLimits(maxBytes: 256 << 10, silence: .seconds(10), whole: .seconds(20))
    /// What a provider says if it doesn't accept this host (RFC 6749, section 5.2; GitHub has names of its own).
    private static let refusalsOfHost: Set<String> = [
        "invalid_client", "unauthorized_client", "incorrect_client_credentials", "redirect_uri_mismatch",
    ]

    let provider: String
    /// The provider's token endpoint.
    let address: String
    let clientID: String
    let clientSecret: String
    /// In the order in which they are tried: some providers read one only, and don't say which.
    let places: [SecretPlace]
    let logger: Logger

    /// - Parameters:
    ///   - redirectAddress: the page that the provider sent the browser to.
    ///   - verifier: the text whose hash the request for the code had.
    /// - Throws: an ``IdentityToolkitError``.
    func tokens(
        for code: String, redirectAddress: String, verifier: String?, by transport: some OutboundTransport
    ) async throws(IdentityToolkitError) -> Tokens {
        var fields = [("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectAddress)]
        if let verifier { fields.append(("code_verifier", verifier)) }
        var (reason, isOfHost) = ("", false)
        for place in places {
            let response = try await ask(fields, place, by: transport)
            let answer = (try? JSONValue(parsing: response.body))?.objectValue
            // GitHub's refusals have the status 200.
            if response.status == 200, let answer, answer["error"] == nil {
                return Tokens(
                    idToken: answer["id_token"]?.stringValue, accessToken: answer["access_token"]?.stringValue,
                    refreshToken: answer["refresh_token"]?.stringValue,
                    expiresIn: answer["expires_in"]?.intValue.map(Int64.init))
            }
            reason = answer?["error"]?.stringValue ?? "the status is \(response.status)"
            isOfHost = Self.refusalsOfHost.contains(reason) || response.status == 401 && answer?["error"] == nil
            // The client wasn't recognized, so the code is still good.
            guard response.status == 401 || reason == "invalid_client" else { break }
        }
        // Such as a secret that has expired, which the operator has to replace.
        logger.warning(
            "a provider refuses a code", metadata: ["auth.provider": "\(provider)", "error": "\(reason)"])
        // Users aren't to blame, and nothing counts as their failed attempt.
        try require(!isOfHost, "OPERATION_NOT_ALLOWED : The provider doesn't accept this host as its client: \(reason)")
        throw IdentityToolkitError("INVALID_IDP_RESPONSE : The provider doesn't accept the code: \(reason)")
    }

    private func ask(
        _ fields: [(String, String)], _ place: SecretPlace, by transport: some OutboundTransport
    ) async throws(IdentityToolkitError) -> OutboundResponse {
        var fields = fields
        var headers = ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"]
        switch place {
        case .form: fields += [("client_id", clientID), ("client_secret", clientSecret)]
        case .header:
            let login = PercentEncoding.encoded(clientID) + ":" + PercentEncoding.encoded(clientSecret)
            headers["Authorization"] = "Basic " + Base64.encode(Array(login.utf8))
        }
        let form = fields.map { "\($0.0)=\(PercentEncoding.encoded($0.1))" }.joined(separator: "&")
        let response: OutboundResponse
        do throws(OutboundError) {
            response = try await transport.send(
                OutboundRequest(to: address, headers: headers, body: Array(form.utf8), limits: Self.limits))
        } catch {
            throw IdentityToolkitError.unavailable
        }
        // A provider that has too many requests of this host refuses no code.
        guard response.status < 500, response.status != 429 else { throw IdentityToolkitError.unavailable }
        return response
    }
}

extension CodeExchange.SecretPlace {
    /// - Parameter methods: what an issuer says of itself; empty if it says nothing.
    static func places(_ methods: [String]) -> [Self] {
        if methods.contains("client_secret_basic") { return [.header] }
        return methods.contains("client_secret_post") ? [.form] : allCases
    }
}
