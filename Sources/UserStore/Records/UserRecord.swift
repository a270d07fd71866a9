/// A user of the project.
///
/// The password and the phone number are providers too; they follow from the fields, so ``identities`` has only the
/// others.
package struct UserRecord: Hashable, Sendable {
    /// At most 128 characters.
    package var uid: String
    /// In lower case; unique among the users of a project.
    package var email: String?
    package var isEmailVerified = false
    package var displayName: String?
    package var photoURL: String?
    /// In the form of E.164, such as `+4915112345678`; unique.
    package var phoneNumber: String?
    package var isDisabled = false
    package var password: PasswordHash?
    /// Milliseconds since 1970, as are all times that end in `At`.
    package var passwordUpdatedAt: Int64?
    /// Whether the user has signed in by a link in a mail.
    package var usesEmailLink = false
    /// Whether the user has signed in by a custom token.
    package var usesCustomToken = false
    /// The user's accounts at identity providers: at most one of each provider.
    package var identities: [ProviderIdentity] = []
    package var secondFactors: [SecondFactor] = []
    /// The custom claims: a JSON object in at most 1,000 characters.
    package var claims: String?
    /// The address before the first change; the one that a recovery restores.
    package var initialEmail: String?
    package var createdAt: Int64
    package var lastSignInAt: Int64?
    package var lastRefreshAt: Int64?
    /// Tokens issued before this time, in seconds since 1970, are revoked.
    package var validSince: Int64?
    /// Counts how often all sign-ins were ended, from 0 or a number of ``randomizeSignInGeneration()``. ID tokens and
    /// codes have the number of their time: within one second, times don't tell those from before and after.
    package var signInGeneration: Int64 = 0
    /// The address that a code can restore, and when it was replaced or taken away, in milliseconds since 1970.
    package var recoveryEmail: String?
    package var recoverySince: Int64?
    /// Whether the user had verified it.
    package var isRecoveryVerified = false

    package init(uid: String, createdAt: Int64) {
        self.uid = uid
        self.createdAt = createdAt
    }

    /// Call for a new user whose uid a caller has chosen: a deleted user may have had it, and no token or code of that one
    /// is to be good for the new one.
    package mutating func randomizeSignInGeneration() { signInGeneration = .random(in: 1...Int64(UInt32.max)) }

    /// Whether the user signs in by the email address, with a password or a link.
    package var hasEmailProvider: Bool { email != nil && (password != nil || usesEmailLink) }

    /// Whether the user has nothing to sign in with.
    package var isAnonymous: Bool {
        email == nil && phoneNumber == nil && identities.isEmpty && !usesCustomToken
    }
}

/// A user's account at an identity provider.
package struct ProviderIdentity: Hashable, Sendable {
    /// Such as `google.com`.
    package var provider: String
    /// The provider's id of the account: `sub` in OpenID Connect. Unique together with the provider.
    package var rawID: String
    /// The id that the provider's tokens have in full; usually the same.
    package var federatedID: String?
    package var email: String?
    package var displayName: String?
    package var photoURL: String?
    package var screenName: String?

    package init(provider: String, rawID: String) {
        self.provider = provider
        self.rawID = rawID
    }
}

/// What a user proves beside the first factor.
package struct SecondFactor: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case phone(String)
        /// The shared secret of an authenticator app, and the number of the last period in which a code was accepted.
        case authenticator(secret: [UInt8], lastPeriod: Int64)
    }

    package var id: String
    package var displayName: String?
    package var enrolledAt: Int64
    package var kind: Kind

    package init(id: String, displayName: String?, enrolledAt: Int64, kind: Kind) {
        self.id = id
        self.displayName = displayName
        self.enrolledAt = enrolledAt
        self.kind = kind
    }

    package var phoneNumber: String? {
        guard case .phone(let number) = kind else { return nil }
        return number
    }
}
