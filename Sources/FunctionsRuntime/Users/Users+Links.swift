import DocumentModel
public import StrictJSON
import UserModel

/// What a mail's link leads to once its action is done.
public struct ActionCodeSettings: Hashable, Sendable {
    /// Where the user continues: an absolute URL, whose domain is among the project's authorized domains.
    public var url: String
    /// Whether an app opens the link rather than a browser. Always so for signing in.
    public var handleCodeInApp: Bool
    public var iOSBundleID: String?
    public var androidPackageName: String?
    public var androidMinimumVersion: String?
    public var androidInstallApp: Bool
    /// The Hosting domain that links have; nil for the project's default.
    public var linkDomain: String?

    public init(
        url: String, handleCodeInApp: Bool = false, iOSBundleID: String? = nil, androidPackageName: String? = nil,
        androidMinimumVersion: String? = nil, androidInstallApp: Bool = false, linkDomain: String? = nil
    ) {
        self.url = url
        self.handleCodeInApp = handleCodeInApp
        self.iOSBundleID = iOSBundleID
        self.androidPackageName = androidPackageName
        self.androidMinimumVersion = androidMinimumVersion
        self.androidInstallApp = androidInstallApp
        self.linkDomain = linkDomain
    }

    fileprivate func add(to body: inout JSONObject) {
        body["continueUrl"] = .string(url)
        body["canHandleCodeInApp"] = .bool(handleCodeInApp)
        body["iOSBundleId"] = iOSBundleID.map(JSONValue.string)
        body["androidPackageName"] = androidPackageName.map(JSONValue.string)
        body["androidMinimumVersion"] = androidMinimumVersion.map(JSONValue.string)
        if androidInstallApp { body["androidInstallApp"] = true }
        body["linkDomain"] = linkDomain.map(JSONValue.string)
    }
}

// Links and custom tokens for users. They have no place in a transaction: what they allow can't be taken back.
extension Users {
    /// A token by which a client signs in as a user: `signIn(withCustomToken:)`. It is valid for an hour.
    ///
    /// - Parameters:
    ///   - uid: 1 to 128 characters. A user who doesn't exist is created at the sign-in.
    ///   - claims: What tokens of this sign-in have besides the user's custom claims.
    /// - Throws: ``AuthError`` with `invalidUID` or `forbiddenClaim`; `DocumentError` with `failedPrecondition` if the
    ///   bundle is served standalone and there is no service account that may sign.
    public func customToken(for uid: String, claims: [String: JSONValue]? = nil) async throws -> String {
        var body: JSONObject = ["uid": .string(uid)]
        if let claims {
            body["claims"] = .object(JSONObject(claims.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }))
        }
        return try Self.text("token", in: try await send(.customToken, body))
    }

    /// A link that sets a new password, for a mail that the function sends.
    ///
    /// - Throws: ``AuthError`` with `emailNotFound`, or `invalidContinueURI`.
    public func passwordResetLink(
        for email: String, settings: ActionCodeSettings? = nil
    ) async throws -> String {
        try await link("PASSWORD_RESET", email, settings)
    }

    /// A link that verifies a user's address, for a mail that the function sends.
    ///
    /// - Throws: ``AuthError`` with `userNotFound`, or `invalidContinueURI`.
    public func emailVerificationLink(
        for email: String, settings: ActionCodeSettings? = nil
    ) async throws -> String {
        try await link("VERIFY_EMAIL", email, settings)
    }

    /// A link that signs in the user with the address, for a mail that the function sends.
    ///
    /// - Parameters:
    ///   - email: The address; it needn't be a user's yet.
    ///   - settings: The app that opens the link.
    /// - Throws: ``AuthError`` with `invalidEmail`, or `invalidContinueURI`.
    public func signInLink(for email: String, settings: ActionCodeSettings) async throws -> String {
        var settings = settings
        settings.handleCodeInApp = true
        return try await link("EMAIL_SIGNIN", email, settings)
    }

    /// A link that verifies a new address and makes it the user's, for a mail that the function sends to it.
    ///
    /// - Parameters:
    ///   - email: The user's present address.
    ///   - newEmail: The new one.
    ///   - settings: Where the user continues.
    /// - Throws: ``AuthError`` with `userNotFound`, `emailAlreadyExists`, `invalidNewEmail` or `invalidContinueURI`.
    public func verifyAndChangeEmailLink(
        for email: String, newEmail: String, settings: ActionCodeSettings? = nil
    ) async throws -> String {
        try await link("VERIFY_AND_CHANGE_EMAIL", email, settings, newEmail: newEmail)
    }

    private func link(
        _ type: String, _ email: String, _ settings: ActionCodeSettings?, newEmail: String? = nil
    ) async throws -> String {
        var body: JSONObject = [
            "requestType": .string(type), "email": .string(email), "returnOobLink": true,
        ]
        body["newEmail"] = newEmail.map(JSONValue.string)
        settings?.add(to: &body)
        return try Self.text("oobLink", in: try await send(.mailLink, body))
    }

    private static func text(_ name: String, in answer: JSONValue) throws(DocumentError) -> String {
        guard let text = answer[name]?.stringValue else {
            throw DocumentError(.internal, "the answer about users has no \(name)")
        }
        return text
    }
}
