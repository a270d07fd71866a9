import StrictJSON
import UserStore

/// A user who has proved the first factor.
struct SignInCandidate: Sendable {
    /// With the changes that the sign-in makes, not stored yet.
    var user: UserRecord
    var isNew: Bool
    /// `sign_in_provider`.
    var provider: String
    /// The claims that tokens of this sign-in have, as a JSON object.
    var claims: String?
    var secondFactor: SignInSession.Factor?
    /// Whether the provider lets second factors be asked for.
    var asksForSecondFactor = true
    /// When the user signed in, if that was before, in seconds since 1970.
    var signedInAt: Int64?
    /// Whether functions may refuse it.
    var isBlockable = true
    /// Whether they are asked as for a new user, because it is new or was anonymous; ``IdentityToolkit/signIn(_:by:_:)``
    /// sets it.
    var isCreation = false

    var waitsForSecondFactor: Bool { asksForSecondFactor && secondFactor == nil && !user.secondFactors.isEmpty }
}

/// What a sign-in leads to.
enum SignInOutcome: Sendable {
    case signedIn(SignedInUser)
    /// The second factor is missing.
    case pending(UserRecord, credential: String, isNew: Bool)

    var user: UserRecord {
        switch self {
        case .signedIn(let signedIn): signedIn.user
        case .pending(let user, _, _): user
        }
    }

    var isNew: Bool {
        switch self {
        case .signedIn(let signedIn): signedIn.isNew
        case .pending(_, _, let isNew): isNew
        }
    }
}

struct SignedInUser: Sendable {
    var user: UserRecord
    var session: SignInSession
    var refreshToken: String
    /// Seconds since 1970.
    var issuedAt: Int64
    var isNew: Bool
}

extension IdentityToolkit {
    /// Stores the user of a sign-in, and what clients need to go on.
    func complete(
        _ candidate: SignInCandidate, from origin: CallOrigin, in transaction: UserTransaction
    ) throws -> SignInOutcome {
        var user = candidate.user
        try require(!user.isDisabled, "USER_DISABLED")
        user.limitRevocation(to: transaction.seconds)
        let session = SignInSession(
            uid: user.uid, provider: candidate.provider, signedInAt: candidate.signedInAt ?? transaction.seconds,
            claims: candidate.claims, secondFactor: candidate.secondFactor)
        if candidate.waitsForSecondFactor {
            try store(user, isNew: candidate.isNew, in: transaction)
            let credential = Secrets.text()
            transaction.insert(
                OneTimeCode(
                    .secondFactor(session), createdAt: transaction.milliseconds,
                    expires: transaction.seconds + CodeLifetime.secondFactor,
                    signInGeneration: user.signInGeneration),
                hash: Secrets.hash(credential))
            return .pending(user, credential: credential, isNew: candidate.isNew)
        }
        if candidate.signedInAt == nil { user.lastSignInAt = transaction.milliseconds }
        user.lastRefreshAt = transaction.milliseconds
        try store(user, isNew: candidate.isNew, in: transaction)
        let token = try insertRefreshToken(for: session, from: origin, in: transaction)
        return .signedIn(
            SignedInUser(
                user: user, session: session, refreshToken: token, issuedAt: transaction.seconds,
                isNew: candidate.isNew))
    }

    func store(_ user: UserRecord, isNew: Bool, in transaction: UserTransaction) throws {
        if isNew { try transaction.insert(user) } else { try transaction.update(user) }
    }

    /// The fields of an answer that sign the client in, or ask for the second factor.
    func fields(of outcome: SignInOutcome) throws -> JSONObject {
        switch outcome {
        case .signedIn(let signedIn): try tokens(of: signedIn)
        case .pending(let user, let credential, _):
            [
                "mfaPendingCredential": .string(credential),
                "mfaInfo": .array(user.secondFactors.map { .object($0.hint) }),
            ]
        }
    }

    func tokens(of signedIn: SignedInUser) throws -> JSONObject {
        [
            "idToken": .string(
                try issuer.idToken(of: signedIn.user, in: signedIn.session, now: signedIn.issuedAt)),
            "refreshToken": .string(signedIn.refreshToken), "expiresIn": .string(String(TokenIssuer.lifetime)),
        ]
    }
}

/// The members of both; those of the second replace those of the first.
func merged(_ object: JSONObject, with other: JSONObject) -> JSONObject {
    var merged = object
    merged.merge(other)
    return merged
}

extension JSONObject {
    /// Adds the members of another object, and replaces those of the same name.
    mutating func merge(_ other: JSONObject) { for (key, value) in other { self[key] = value } }
}
