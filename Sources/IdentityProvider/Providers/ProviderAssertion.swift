import UserStore
import StrictJSON
import TextFormats

/// What a client presents of an identity provider: `postBody`, or what is in the query or fragment of `requestUri`.
struct ProviderAssertion: Sendable {
    let provider: String
    var idToken: String?
    var accessToken: String?
    var refreshToken: String?
    /// When the access token expires, in seconds from now.
    var expiresIn: Int64?
    /// What a browser brings back in place of tokens.
    let code: String?
    /// The text whose hash the request for the code had.
    let codeVerifier: String?
    /// The page that the provider sent the browser to.
    let page: String
    /// What the client had the provider put into the token, before hashing.
    let nonce: String?
    /// The user's name, which Apple tells once, beside the token.
    let firstName: String?
    let lastName: String?

    init(_ call: SignInCall) throws(IdentityToolkitError) {
        let address = try require(
            WebAddress(try require(call["requestUri"], "MISSING_REQUEST_URI")), "INVALID_REQUEST_URI")
        var values = FormFields.values(address.query.utf8)
        values.merge(FormFields.values((call["postBody"] ?? "").utf8)) { $1 }
        values.merge(FormFields.values(address.fragment.utf8)) { $1 }
        provider = try require(
            values["providerId"].flatMap { $0.isEmpty ? nil : $0.lowercased() },
            "INVALID_CREDENTIAL_OR_PROVIDER_ID : Invalid IdP response/credential: the provider is missing.")
        func value(_ name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }
        idToken = value("id_token")
        accessToken = value("access_token")
        code = value("code")
        codeVerifier = value("code_verifier")
        page = String(address.text.prefix { $0 != "?" && $0 != "#" })
        nonce = values["nonce"]
        let user = provider == "apple.com" ? value("user").flatMap { try? JSONValue(parsing: Array($0.utf8)) } : nil
        firstName = user?["name"]?["firstName"]?.stringValue
        lastName = user?["name"]?["lastName"]?.stringValue
    }
}

/// What a provider says of a user.
struct ProviderProfile: Sendable {
    var rawID: String
    var email: String?
    var isEmailVerified: Bool
    var displayName: String?
    var firstName: String?
    var lastName: String?
    var photoURL: String?
    var screenName: String?
    /// All that the provider says.
    var claims: JSONObject

    /// Reads the claims of OpenID Connect.
    init(claims: JSONObject) throws(IdentityToolkitError) {
        rawID = try require(
            claims["sub"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 },
            "INVALID_IDP_RESPONSE : Invalid Idp Response: id_token missing required fields (sub).")
        email = claims["email"]?.stringValue.flatMap { Contact.email($0) }
        // Apple writes it as a text.
        isEmailVerified = claims["email_verified"]?.boolValue ?? (claims["email_verified"]?.stringValue == "true")
        displayName = claims["name"]?.stringValue
        firstName = claims["given_name"]?.stringValue
        lastName = claims["family_name"]?.stringValue
        photoURL = claims["picture"]?.stringValue
        screenName = claims["screen_name"]?.stringValue
        self.claims = claims
        try Profile.check(name: displayName, photoURL: photoURL)
        try require(rawID.utf8.count <= 512, "INVALID_IDP_RESPONSE : The subject (sub) is too long.")
    }

    /// Takes the name that stands beside a token without one.
    mutating func setName(first: String?, last: String?) throws(IdentityToolkitError) {
        let names = [first, last].compactMap { $0 }.filter { !$0.isEmpty }
        guard displayName == nil, !names.isEmpty else { return }
        (displayName, firstName, lastName) = (names.joined(separator: " "), first, last)
        try Profile.check(name: displayName, photoURL: nil)
    }
}

extension ProviderProfile {
    /// The fields of an answer that describe the profile.
    func answer(of provider: String) throws -> JSONObject {
        var answer: JSONObject = [
            "kind": "identitytoolkit#VerifyAssertionResponse", "context": "", "providerId": .string(provider),
            "federatedId": .string(federatedID(at: provider)), "emailVerified": .bool(isEmailVerified),
            "rawUserInfo": .string(try rawUserInfo(of: provider)),
        ]
        answer["email"] = email.map(JSONValue.string)
        answer["displayName"] = displayName.map(JSONValue.string)
        answer["fullName"] = displayName.map(JSONValue.string)
        answer["screenName"] = screenName.map(JSONValue.string)
        answer["photoUrl"] = photoURL.map(JSONValue.string)
        if provider == "google.com" {
            answer["firstName"] = firstName.map(JSONValue.string)
            answer["lastName"] = lastName.map(JSONValue.string)
        }
        return answer
    }

    func identity(of provider: String) -> ProviderIdentity {
        var identity = ProviderIdentity(provider: provider, rawID: rawID)
        identity.email = email
        identity.displayName = displayName
        identity.photoURL = photoURL
        identity.screenName = screenName
        return identity
    }

    private func federatedID(at provider: String) -> String {
        provider == "google.com" ? "https://accounts.google.com/\(rawID)" : rawID
    }

    /// JSON in a text: Google's profile as Google gives it, else all claims.
    private func rawUserInfo(of provider: String) throws -> String {
        var info = claims
        if provider == "google.com" {
            var scopes = "openid https://www.googleapis.com/auth/userinfo.profile"
            if email != nil { scopes += " https://www.googleapis.com/auth/userinfo.email" }
            info = [
                "granted_scopes": .string(scopes), "id": .string(rawID), "verified_email": .bool(isEmailVerified),
            ]
            for (name, text) in [
                ("name", displayName), ("given_name", firstName), ("family_name", lastName), ("email", email),
                ("picture", photoURL), ("locale", claims["locale"]?.stringValue),
            ] {
                info[name] = text.map(JSONValue.string)
            }
        }
        return String(decoding: try JSONValue.object(info).serialized(), as: UTF8.self)
    }
}
