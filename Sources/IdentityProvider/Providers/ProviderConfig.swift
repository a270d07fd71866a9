import StrictJSON

/// An identity provider whose assertions are accepted.
package struct ProviderConfig: Hashable, Sendable {
    package enum Check: Hashable, Sendable {
        /// ID tokens of OpenID Connect: by the issuer's published keys, for one of these clients, of which the first is that
        /// of browsers.
        case openID(issuer: String, clientIDs: [String])
        /// Access tokens: their owner is the user that the provider describes.
        case profile(ProfileAddresses)
    }

    /// Where a provider without ID tokens is asked.
    package struct ProfileAddresses: Hashable, Sendable {
        /// Describes the owner of an access token.
        package var profile: String
        /// Describes the app of an access token. Without it and an app's id, a token that another app got is accepted too,
        /// unless tokens come from codes alone.
        package var app: String?
        /// The app's id, as the provider's tokens and pages name it.
        package var appID: String?
        /// Where browsers sign in; nil for apps alone.
        package var authorization: String?
        /// Where codes are exchanged for access tokens; nil for a provider that gives tokens to browsers.
        package var token: String?

        package init(profile: String) { self.profile = profile }
    }

    /// Such as `google.com` or `oidc.line`.
    package var id: String
    package var displayName: String?
    package var isEnabled = true
    package var check: Check
    /// The client's secret at the provider, with which codes are exchanged.
    package var clientSecret: String?
    /// Whether a browser comes back with a code, which this host exchanges for tokens; else it brings the tokens.
    package var usesCode = false

    package init(id: String, check: Check) {
        self.id = id
        self.check = check
    }

    /// The issuers of the providers that everybody knows.
    package static let knownIssuers = [
        "google.com": "https://accounts.google.com", "apple.com": "https://appleid.apple.com",
    ]

    package static let facebook = (
        profile: "https://graph.facebook.com/me?fields=id,name,email,first_name,last_name,picture",
        app: "https://graph.facebook.com/app", authorize: "https://www.facebook.com/dialog/oauth",
        token: "https://graph.facebook.com/oauth/access_token"
    )
}

extension ProviderConfig {
    /// A config as admin SDKs send and receive it.
    func json(of project: String) -> JSONObject {
        var json: JSONObject = [
            "name": .string("projects/\(project)/oauthIdpConfigs/\(id)"), "enabled": .bool(isEnabled),
            "responseType": ["idToken": .bool(!usesCode), "code": .bool(usesCode)],
        ]
        json["displayName"] = displayName.map(JSONValue.string)
        json["clientSecret"] = clientSecret.map(JSONValue.string)
        if case .openID(let issuer, let clientIDs) = check {
            json["issuer"] = .string(issuer)
            json["clientId"] = clientIDs.first.map(JSONValue.string)
        }
        return json
    }

    /// - Throws: an ``IdentityToolkitError`` if something is missing or invalid.
    init(id: String, _ fields: SignInRequest, over old: ProviderConfig? = nil, mask: [String]? = nil) throws {
        try require(
            id.hasPrefix("oidc.") && id.utf8.count <= 64 && id.dropFirst(5).utf8.allSatisfy(Self.isInID),
            "INVALID_OAUTH_CLIENT_ID : The id of a provider is oidc. and letters, digits, - and _.")
        var (issuer, client) = (String?.none, String?.none)
        if case .openID(let oldIssuer, let clients)? = old?.check { (issuer, client) = (oldIssuer, clients.first) }
        func isMeant(_ name: String) -> Bool { mask.map { $0.contains(name) } ?? fields.has(name) }
        if isMeant("issuer") { issuer = fields["issuer"] }
        if isMeant("clientId") { client = fields["clientId"] }
        let address = try require(
            issuer.flatMap { WebAddress($0) }, "INVALID_ISSUER : The issuer is not a web address.")
        try require(
            address.scheme == "https" || address.host == "localhost" || address.host == "127.0.0.1",
            "INVALID_ISSUER : The issuer is not an https address.")
        let clientID = try require(client, "INVALID_OAUTH_CLIENT_ID : The client id is missing.")
        self.init(id: id, check: .openID(issuer: address.text, clientIDs: [clientID]))
        displayName = isMeant("displayName") ? fields["displayName"] : old?.displayName
        isEnabled = isMeant("enabled") ? fields.flag("enabled") ?? false : old?.isEnabled ?? false
        clientSecret = isMeant("clientSecret") ? fields["clientSecret"] : old?.clientSecret
        let type = fields.message("responseType")
        func flag(_ name: String) -> Bool? {
            let isMeant = mask.map { $0.contains("responseType") || $0.contains("responseType.\(name)") } ?? true
            return isMeant ? type?.flag(name) : nil
        }
        let (code, idToken) = (flag("code"), flag("idToken"))
        usesCode = code ?? idToken.map { !$0 } ?? old?.usesCode ?? false
        try require(
            idToken ?? !usesCode != usesCode,
            "INVALID_OAUTH_RESPONSETYPE : Exactly one of code and idToken has to be true.")
        try require(
            !usesCode || clientSecret != nil,
            "MISSING_OAUTH_CLIENT_SECRET : The client secret is missing, with which codes are exchanged.")
    }

    private static func isInID(_ byte: UInt8) -> Bool {
        (97...122).contains(byte | 0x20) || (48...57).contains(byte) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_")
    }
}
