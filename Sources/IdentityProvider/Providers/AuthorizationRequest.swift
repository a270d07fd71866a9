import StrictJSON
import TextFormats

/// The address of a provider at which a user signs in with a browser, by OpenID Connect or OAuth: with
/// the code flow where the client's secret is configured, else with the implicit flow.
///
/// The page of sign-in adds `state`, and `nonce` where the provider answers with an ID token.
struct AuthorizationRequest {
    var address: String
    var hasNonce: Bool

    /// What the app can't set by custom parameters.
    private static let ours = [
        "client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
    ]

    /// - Parameters:
    ///   - endpoint: the provider's authorization address.
    ///   - handler: the address of this host's page that the provider returns to.
    ///   - call: its query has `scopes`, separated by commas, and `customParameters` in JSON, as the web SDK sends them.
    init(_ config: ProviderConfig, at endpoint: WebAddress, handler: String, _ call: SignInCall) {
        var scopes = (call.query["scopes"] ?? "").split(separator: ",").map(String.init)
        var parameters = ["redirect_uri": handler]
        switch config.check {
        case .openID(_, let clientIDs):
            hasNonce = true
            parameters["client_id"] = clientIDs.first
            if config.id == "apple.com" {
                parameters["response_type"] = "code id_token"
                // Apple sends scopes to a form alone.
                parameters["response_mode"] = scopes.isEmpty ? "fragment" : "form_post"
            } else {
                parameters["response_type"] = config.usesCode ? "code" : "id_token"
                scopes = ["openid", "email", "profile"].filter { !scopes.contains($0) } + scopes
            }
        case .profile(let addresses):
            hasNonce = false
            parameters["client_id"] = addresses.appID
            parameters["response_type"] = config.usesCode ? "code" : "token"
        }
        if !scopes.isEmpty { parameters["scope"] = scopes.joined(separator: " ") }
        let custom = call.query["customParameters"].flatMap { try? JSONValue(parsing: Array($0.utf8)) }?.objectValue
        for (name, value) in custom ?? [:] where !Self.ours.contains(name) { parameters[name] = value.stringValue }
        address = endpoint.adding(
            query: parameters.sorted { $0.key < $1.key }
                .map { "\(PercentEncoding.encoded($0.key))=\(PercentEncoding.encoded($0.value))" }
                .joined(separator: "&"))
    }
}
