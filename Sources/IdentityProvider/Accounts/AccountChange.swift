import StrictJSON
import UserStore

/// The change that an update asks for, apart from the password.
struct AccountChange: Sendable {
    let email: String?
    var validSince: Int64?
    private let fields: SignInRequest
    private let isAdmin: Bool
    private let phoneNumber: String?
    private let deletedAttributes: Set<String>
    private let deletedProviders: Set<String>
    private let identity: ProviderIdentity?

    /// The attributes that `deleteAttribute` names, at their numbers.
    private static let attributes = [
        "USER_ATTRIBUTE_NAME_UNSPECIFIED", "EMAIL", "DISPLAY_NAME", "PROVIDER", "PHOTO_URL", "PASSWORD",
        "RAW_USER_INFO",
    ]

    /// - Throws: an ``IdentityToolkitError`` if the caller may not change a field, or the value is invalid.
    init(_ fields: SignInRequest, isAdmin: Bool, hasToken: Bool) throws(IdentityToolkitError) {
        self.fields = fields
        self.isAdmin = isAdmin
        if !isAdmin {
            try require(hasToken, "INVALID_REQ_TYPE : Unsupported request parameters.")
            try require(!fields.has("customAttributes"), "INSUFFICIENT_PERMISSION")
        }
        if hasToken { try require(!fields.has("disableUser"), "OPERATION_NOT_ALLOWED") }
        if let claims = fields["customAttributes"] { try IDTokenClaims.check(claims) }
        email = try fields["email"].map { text throws(IdentityToolkitError) in
            try require(Contact.email(text), "INVALID_EMAIL")
        }
        phoneNumber =
            isAdmin
            ? try fields["phoneNumber"].map { text throws(IdentityToolkitError) in
                try require(Contact.phoneNumber(text), Contact.invalidNumber)
            } : nil
        try Profile.check(name: fields["displayName"], photoURL: fields["photoUrl"])
        validSince = isAdmin ? fields.integer("validSince") : nil
        deletedAttributes = Set(
            fields.texts("deleteAttribute").map { text in
                Int(text).flatMap { Self.attributes.indices.contains($0) ? Self.attributes[$0] : nil } ?? text
            })
        deletedProviders = Set(fields.texts("deleteProvider"))
        identity = try fields.message("linkProviderUserInfo").map { given throws(IdentityToolkitError) in
            try require(isAdmin, "INSUFFICIENT_PERMISSION")
            return try ProviderIdentity(
                given, provider: try require(given["providerId"], "MISSING_PROVIDER_ID"),
                rawID: try require(given["rawId"], "MISSING_RAW_ID"))
        }
    }

    /// - Parameter hidesAccounts: whether a change that is refused must not tell that another account has the address.
    func apply(to user: inout UserRecord, hidesAccounts: Bool, in transaction: UserTransaction) throws {
        let old = user
        if let email, email != user.email {
            // As on Firebase, a verified address takes the place of another, by a link.
            try require(isAdmin || user.secondFactors.isEmpty, IdentityToolkit.unverifiedChangeWithFactors)
            try require(isAdmin || !hidesAccounts, IdentityToolkit.unverifiedChange)
            user.replaceEmail(by: email, at: transaction.milliseconds)
        }
        if let name = fields["displayName"] { user.displayName = name }
        if let picture = fields["photoUrl"] { user.photoURL = picture }
        // Clients take a profile's value away with an empty text.
        if fields.isEmpty("displayName") { user.displayName = nil }
        if fields.isEmpty("photoUrl") { user.photoURL = nil }
        if isAdmin { try applyAsAdmin(to: &user, in: transaction) }
        for attribute in deletedAttributes {
            switch attribute {
            case "DISPLAY_NAME": user.displayName = nil
            case "PHOTO_URL": user.photoURL = nil
            case "PASSWORD": user.password = nil
            case "EMAIL": user.removeEmail(at: transaction.milliseconds)
            default: break
            }
        }
        if deletedProviders.contains("password") {
            user.removeEmail(at: transaction.milliseconds)
            user.password = nil
        }
        if deletedProviders.contains("phone") { user.phoneNumber = nil }
        user.identities.removeAll { deletedProviders.contains($0.provider) }
        if let identity { user.set(identity) }
        // What an admin took away may have been a thief's, and is not to be restored.
        if isAdmin, user.email != old.email { user.forgetLostEmails() }
    }

    private func applyAsAdmin(to user: inout UserRecord, in transaction: UserTransaction) throws {
        if let isVerified = fields.flag("emailVerified") { user.isEmailVerified = isVerified }
        if let isDisabled = fields.flag("disableUser") { user.isDisabled = isDisabled }
        if let phoneNumber { user.phoneNumber = phoneNumber }
        if let claims = fields["customAttributes"] { user.claims = claims }
        if fields.isEmpty("customAttributes") { user.claims = nil }
        if let createdAt = fields.integer("createdAt") { user.createdAt = createdAt }
        if let signedInAt = fields.integer("lastLoginAt") { user.lastSignInAt = signedInAt }
        if let validSince { user.validSince = validSince }
        if let factors = fields.message("mfa") {
            user.secondFactors = try SecondFactor.list(
                factors.messages("enrollments"), at: transaction.milliseconds)
        }
    }
}

extension IdentityToolkit {
    static let unverifiedChange = "OPERATION_NOT_ALLOWED : Please verify the new email before changing email."
    /// The code by which apps know that the user has second factors, and send a link to the new address.
    static let unverifiedChangeWithFactors =
        "EMAIL_CHANGE_NEEDS_VERIFICATION : Multi-factor users must always have a verified email."

    /// Gives an account, whose address was not verified, to a person who has proved to own the address. Another one may have made
    /// it: nothing remains with which that one could sign in. Second factors stay, since only verified addresses get them: a
    /// mailbox alone does not replace one.
    func handOver(_ user: inout UserRecord, in transaction: UserTransaction) throws {
        (user.password, user.phoneNumber, user.identities) = (nil, nil, [])
        user.usesEmailLink = false
        // Otherwise a code for the address before would take the account back.
        user.forgetLostEmails()
        try endSignIns(of: &user, in: transaction)
    }
}

extension UserRecord {
    /// Of several addresses that were lost within the time in which a code is good, the first can be restored: a thief may change
    /// theirs once more.
    mutating func replaceEmail(by new: String?, isVerified: Bool = false, at milliseconds: Int64) {
        if let email, new != email {
            // A clock that was set back since; the next code would be older.
            recoverySince = recoverySince.map { min($0, milliseconds) }
            initialEmail = initialEmail ?? email
            let isOver = recoverySince.map { milliseconds - $0 > 1000 * CodeLifetime.mail(.recoverEmail) } ?? true
            if recoveryEmail == nil || isOver {
                (recoveryEmail, recoverySince, isRecoveryVerified) = (email, milliseconds, isEmailVerified)
            }
        }
        email = new
        isEmailVerified = isVerified
    }

    /// Takes back a revocation for a time to come, of a clock that was set back since: tokens and codes of until then would
    /// be refused. Those from before it are recognized by ``signInGeneration``.
    ///
    /// - Returns: whether anything has changed.
    @discardableResult
    mutating func limitRevocation(to seconds: Int64) -> Bool {
        guard let time = validSince, time > seconds else { return false }
        validSince = seconds
        return true
    }

    /// No address from before can be restored.
    mutating func forgetLostEmails() {
        (initialEmail, recoveryEmail, recoverySince, isRecoveryVerified) = (nil, nil, nil, false)
    }

    mutating func removeEmail(at milliseconds: Int64) {
        replaceEmail(by: nil, at: milliseconds)
        usesEmailLink = false
    }

    /// Adds an identity, or replaces that of the same provider.
    mutating func set(_ identity: ProviderIdentity) {
        if let index = identities.firstIndex(where: { $0.provider == identity.provider }) {
            identities[index] = identity
        } else {
            identities.append(identity)
        }
    }
}

extension ProviderIdentity {
    /// An identity as admins write it.
    init(_ fields: SignInRequest, provider: String, rawID: String) throws(IdentityToolkitError) {
        self.init(provider: provider, rawID: rawID)
        try require(
            provider.utf8.count <= 128 && rawID.utf8.count <= 512,
            "INVALID_ARGUMENT : providerId or rawId is too long.")
        federatedID = fields["federatedId"]
        email = fields["email"].flatMap { Contact.email($0) }
        displayName = fields["displayName"]
        photoURL = fields["photoUrl"]
        screenName = fields["screenName"]
        try Profile.check(name: displayName, photoURL: photoURL)
    }
}
