import OutboundHTTP
import StrictJSON
import TextFormats
import TokenVerification

/// Exchanges the code that a browser brings back from a provider for the user's tokens (RFC 6749, section 4.1.3).
///
/// The client's secret never leaves this host, and a code is of no use without it.
struct CodeExchange: Sendable {
    struct Tokens: Hashable, Sendable {
        var idToken: String?
        var accessToken: String?
        var refreshToken: String?
    }

    private static let limits = OutboundLimits(maxBytes: 256 << 10, silence: .seconds(10), whole: .seconds(20))

    /// The provider's token endpoint.
    let address: String
    let clientID: String
    let clientSecret: String
    /// Whether the secret goes into the form: not all providers read the header.
    let putsSecretInForm: Bool

    /// - Parameter redirectAddress: the address that the provider sent the browser to, which must be that of the request for
    ///   the code.
    /// - Throws: an ``IdentityToolkitError``.
    func tokens(
        for code: String, redirectAddress: String, by transport: some OutboundTransport
    ) async throws(IdentityToolkitError) -> Tokens {
        var fields = [("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectAddress)]
        var headers = ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"]
        if putsSecretInForm {
            fields += [("client_id", clientID), ("client_secret", clientSecret)]
        } else {
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
        guard response.status < 500 else { throw IdentityToolkitError.unavailable }
        let answer = (try? JSONValue(parsing: response.body))?.objectValue
        // GitHub's refusals have the status 200.
        guard response.status == 200, let answer, answer["error"] == nil else {
            let reason = answer?["error"]?.stringValue ?? "the status is \(response.status)"
            throw IdentityToolkitError("INVALID_IDP_RESPONSE : The provider doesn't accept the code: \(reason)")
        }
        return Tokens(
            idToken: answer["id_token"]?.stringValue, accessToken: answer["access_token"]?.stringValue,
            refreshToken: answer["refresh_token"]?.stringValue)
    }
}
