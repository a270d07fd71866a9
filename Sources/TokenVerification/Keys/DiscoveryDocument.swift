package import OutboundHTTP
import StrictJSON

/// What an OpenID Connect issuer says of itself at `/.well-known/openid-configuration`.
package struct DiscoveryDocument: Hashable, Sendable {
    /// Where the issuer's keys are.
    package var keysAddress: String
    /// Where users sign in; nil for an issuer without such a page.
    package var authorizationAddress: String?
    /// Where a code is exchanged for tokens; nil for an issuer without codes.
    package var tokenAddress: String?
    /// Whether the issuer takes a client's secret in the form alone, and not in the header.
    package var takesSecretInForm: Bool

    private static let limits = OutboundLimits(maxBytes: 1 << 20, silence: .seconds(10), whole: .seconds(20))

    /// Fetches the document.
    ///
    /// - Parameter issuer: as tokens name it, such as `https://accounts.google.com`.
    package static func fetch(
        of issuer: String, by transport: any OutboundTransport
    ) async throws(KeySourceError) -> DiscoveryDocument {
        let response: OutboundResponse
        do throws(OutboundError) {
            let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
            response = try await transport.send(
                OutboundRequest(to: base + "/.well-known/openid-configuration", limits: limits))
        } catch {
            throw KeySourceError("the issuer's discovery document can't be fetched: \(error)")
        }
        guard response.status == 200, let document = try? JSONNode(parsing: response.body),
            let keys = document["jwks_uri"]?.text
        else { throw KeySourceError("the issuer's discovery document has no jwks_uri") }
        guard document["issuer"]?.isText(issuer) == true else {
            throw KeySourceError("the discovery document is that of another issuer")
        }
        let methods = ((try? document["token_endpoint_auth_methods_supported"]?.elements()) ?? []).compactMap(\.text)
        return DiscoveryDocument(
            keysAddress: keys, authorizationAddress: document["authorization_endpoint"]?.text,
            tokenAddress: document["token_endpoint"]?.text,
            takesSecretInForm: methods.contains("client_secret_post") && !methods.contains("client_secret_basic"))
    }
}
