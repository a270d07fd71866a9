/// The responses of sign-in, with the fields that clients read. Numbers are encoded as strings.
enum SignInResponse {
    struct SignUp: Encodable {
        var kind = "identitytoolkit#SignupNewUserResponse"
        var idToken: String
        var refreshToken: String
        var expiresIn: String
        var localId: String
    }

    struct Lookup: Encodable {
        var kind = "identitytoolkit#GetAccountInfoResponse"
        /// Nil, and hence omitted, if no user was found.
        var users: [User]?
    }

    struct User: Encodable {
        var localId: String
        /// Milliseconds since 1970, as is `lastLoginAt`.
        var createdAt: String
        var lastLoginAt: String
        /// RFC 3339.
        var lastRefreshAt: String
        var disabled: Bool
    }

    struct Update: Encodable {
        var kind = "identitytoolkit#SetAccountInfoResponse"
        var localId: String
    }

    struct Delete: Encodable {
        var kind = "identitytoolkit#DeleteAccountResponse"
    }

    struct Refresh: Encodable {
        var id_token: String
        var access_token: String
        var refresh_token: String
        var expires_in: String
        var token_type = "Bearer"
        var user_id: String
        var project_id: String
    }
}
