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
    /// Describes the owner of an access token; nil for an issuer without such an address.
    package var profileAddress: String?
    /// How the issuer takes a client's secret at its token endpoint; empty if it doesn't say.
    package var secretMethods: [String]

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
        let addresses = ["jwks_uri", "authorization_endpoint", "token_endpoint", "userinfo_endpoint"]
        for name in addresses {
            guard let address = document[name]?.text, !isSafe(address) else { continue }
            throw KeySourceError("the \(name) of the issuer's discovery document is not an https address")
        }
        let methods = (try? document["token_endpoint_auth_methods_supported"]?.elements()) ?? []
        return DiscoveryDocument(
            keysAddress: keys, authorizationAddress: document["authorization_endpoint"]?.text,
            tokenAddress: document["token_endpoint"]?.text, profileAddress: document["userinfo_endpoint"]?.text,
            secretMethods: methods.compactMap(\.text))
    }

    /// Whether others can't read along: by https, or on this machine.
    private static func isSafe(_ address: String) -> Bool {
        guard !address.hasPrefix("https://") else { return true }
        return ["http://localhost", "http://127.0.0.1"].contains { local in
            address.hasPrefix(local) && [nil, ":", "/"].contains(address.dropFirst(local.count).first)
        }
    }
}
