import DocumentModel
import StrictJSON
import TextFormats
import UserStore

/// Why one user of an import can't be stored; the others are.
struct ImportProblem: Error, Hashable, Sendable {
    var message: String

    init(_ message: String) { self.message = message }

    init(_ error: IdentityToolkitError) {
        message =
            switch error.message {
            case "INVALID_CLAIMS": "Invalid custom claims provided."
            case "CLAIMS_TOO_LARGE": "Custom claims provided are too large."
            case let text where text.hasPrefix("FORBIDDEN_CLAIM"): "Custom claims provided include a reserved claim."
            case let text: text
            }
    }

    init(_ conflict: UserConflict) {
        message =
            switch conflict {
            case .uidExists: "localId belongs to an existing account - can not overwrite."
            case .emailExists: "email exists in other account in database"
            case .phoneNumberExists: "phone number exists in other account in database"
            case .identityExists: "raw id exists in other account in database"
            case .noSuchUser: "there is no such account"
            }
    }
}

/// A user as imports write it.
struct ImportedUser: Sendable {
    let user: UserRecord

    /// - Parameters:
    ///   - hash: of the raw password, if there is one.
    ///   - now: Seconds since 1970.
    init(_ fields: SignInRequest, scheme: ImportedScheme, hash: PasswordHash?, now: Int64) throws(ImportProblem) {
        do throws(IdentityToolkitError) {
            user = try Self.read(fields, scheme, hash, now)
        } catch {
            throw ImportProblem(error)
        }
    }

    /// - Throws: ``ImportProblem``; the user isn't stored then.
    func store(overwriting: Bool, in transaction: UserTransaction) throws {
        do {
            var new = user
            guard let old = try transaction.user(user.uid) else {
                new.randomizeSignInGeneration()
                return try transaction.insert(new)
            }
            guard overwriting else { throw UserConflict.uidExists }
            new.signInGeneration = old.signInGeneration &+ 1
            try transaction.update(new)
            try transaction.endSessions(of: user.uid)
        } catch let conflict as UserConflict {
            throw ImportProblem(conflict)
        }
    }

    /// Takes from the user who is to be replaced what is unique: another of the import may have it now, in exchange.
    func release(in transaction: UserTransaction) throws {
        guard var old = try transaction.user(user.uid) else { return }
        (old.email, old.phoneNumber, old.identities) = (nil, nil, [])
        try transaction.update(old)
    }

    private static func read(
        _ fields: SignInRequest, _ given: ImportedScheme, _ hash: PasswordHash?, _ now: Int64
    ) throws(IdentityToolkitError) -> UserRecord {
        let uid = try require(fields["localId"], "localId is missing")
        try Profile.check(uid: uid)
        try Profile.check(name: fields["displayName"], photoURL: fields["photoUrl"])
        try require(fields["tenantId"] == nil, "Tenant id in userInfo does not match the tenant id in request.")
        var user = UserRecord(uid: uid, createdAt: Self.milliseconds(fields, "createdAt") ?? now * 1000)
        user.displayName = fields["displayName"]
        user.photoURL = fields["photoUrl"]
        // `firebase auth:export` writes the first name.
        user.lastSignInAt = Self.milliseconds(fields, "lastSignedInAt") ?? Self.milliseconds(fields, "lastLoginAt")
        // A later time, of a clock that is fast or in another unit, would refuse the tokens of all sign-ins until then.
        user.validSince = min(fields.integer("validSince") ?? now, now)
        user.email = try fields["email"].map { text throws(IdentityToolkitError) in
            try require(Contact.email(text), "email is invalid")
        }
        user.isEmailVerified = fields.flag("emailVerified") ?? false
        user.isDisabled = fields.flag("disabled") ?? false
        user.phoneNumber = try fields["phoneNumber"].map { text throws(IdentityToolkitError) in
            try require(Contact.phoneNumber(text), "phone number format is invalid")
        }
        if let claims = fields["customAttributes"] {
            try IDTokenClaims.check(claims)
            user.claims = claims
        }
        user.initialEmail = fields["initialEmail"].flatMap { Contact.email($0) }
        user.usesEmailLink = fields.flag("emailLinkSignin") ?? false
        user.usesCustomToken = fields.flag("customAuth") ?? false
        user.lastRefreshAt = Self.milliseconds(fields, "lastRefreshAt")
        if let text = fields["passwordHash"] {
            // Our exports name the scheme of each hash; others have one for all.
            let scheme = try fields.message("hash").map { own throws(IdentityToolkitError) in
                try ImportedScheme(own)
            }
            user.password = try (scheme ?? given).password(text, salt: fields["salt"])
        } else {
            user.password = hash
        }
        if user.password != nil { user.passwordUpdatedAt = fields.integer("passwordUpdatedAt") ?? now * 1000 }
        for provider in fields.messages("providerUserInfo") {
            let id = try require(provider["providerId"], "federatedId or (providerId & rawId) is required")
            // They follow from the email address and the phone number.
            if id == "password" || id == "phone" { continue }
            let rawID = try require(provider["rawId"], "federatedId or (providerId & rawId) is required")
            user.set(try ProviderIdentity(provider, provider: id, rawID: rawID))
        }
        // Also without a verified address: an admin may have changed it since they were enrolled.
        user.secondFactors = try SecondFactor.list(fields.messages("mfaInfo"), at: now * 1000)
        return user
    }
    /// A time in milliseconds since 1970. Firebase's library for .NET writes all times as `2026-01-02T03:04:05Z`.
    private static func milliseconds(_ fields: SignInRequest, _ name: String) -> Int64? {
        fields.integer(name) ?? fields[name].flatMap { Timestamp(rfc3339: $0) }.map { $0.microseconds / 1000 }
    }
}
