import DocumentModel
import StrictJSON
import UserStore

extension IdentityToolkit {
    private static let exists =
        "SECOND_FACTOR_EXISTS : Phone number already enrolled as second factor for this account."
    private static let maxFactors = 5

    // MARK: Enrollment

    func startEnrollment(_ call: SignInCall) async throws -> JSONObject {
        let caller = try enrollingCaller(call)
        if call.fields.message("totpEnrollmentInfo") != nil { return try await startAuthenticator(caller) }
        let info = try require(
            call.fields.message("phoneEnrollmentInfo"), "INVALID_ARGUMENT : ((Missing phoneEnrollmentInfo.))")
        let given = info["phoneNumber"]
        try await users.read { _ = try enrollingUser(caller, in: $0) }
        let number = try require(given.flatMap { Contact.phoneNumber($0) }, Contact.invalidNumber)
        let session = try await sendCode(to: number, for: .enrollment(uid: caller.uid), call) { transaction in
            let user = try enrollingUser(caller, in: transaction)
            try require(!user.secondFactors.contains { $0.phoneNumber == number }, Self.exists)
        }
        return ["phoneSessionInfo": ["sessionInfo": .string(session)]]
    }

    private func startAuthenticator(_ caller: Caller) async throws -> JSONObject {
        let (session, secret) = (Secrets.text(), Secrets.bytes(Authenticator.secretBytes))
        let deadline = try await users.commit { transaction in
            _ = try enrollingUser(caller, in: transaction)
            let expires = transaction.seconds + CodeLifetime.authenticator
            transaction.insert(
                OneTimeCode(
                    .authenticator(uid: caller.uid, secret: secret), createdAt: transaction.milliseconds,
                    expires: expires),
                hash: Secrets.hash(session))
            return expires
        }
        return [
            "totpSessionInfo": [
                "sharedSecretKey": .string(Authenticator.text(of: secret)),
                "verificationCodeLength": .integer(Int64(Authenticator.digits)), "hashingAlgorithm": "SHA1",
                "periodSec": .integer(Authenticator.period), "sessionInfo": .string(session),
                "finalizeEnrollmentTime": .string(Timestamp(seconds: deadline, nanoseconds: 0).withMilliseconds),
            ]
        ]
    }

    func finishEnrollment(_ call: SignInCall) async throws -> JSONObject {
        let caller = try enrollingCaller(call)
        let name = call["displayName"]
        try Profile.check(name: name, photoURL: nil)
        let proof = try SecondFactorProof(call.fields)
        let result = try await users.commit { transaction -> Result<SignedInUser, IdentityToolkitError> in
            var user = try enrollingUser(caller, in: transaction)
            let kind: SecondFactor.Kind
            switch try enrolledFactor(proof, of: user, from: call.origin, in: transaction) {
            case .success(let proved): kind = proved
            case .failure(let error): return .failure(error)
            }
            let factor = SecondFactor(
                id: Secrets.id(), displayName: name, enrolledAt: transaction.milliseconds, kind: kind)
            user.secondFactors.append(factor)
            return .success(
                try reissue(
                    user, caller, .init(id: factor.id, kind: factor.signInName), from: call.origin, in: transaction))
        }
        return try secondFactorAnswer(result.get())
    }

    private func enrolledFactor(
        _ proof: SecondFactorProof, of user: UserRecord, from origin: CallOrigin, in transaction: UserTransaction
    ) throws -> Result<SecondFactor.Kind, IdentityToolkitError> {
        switch proof {
        case .phone(let session, let code):
            let verified = try verifyPhone(
                session, code, for: .enrollment(uid: user.uid), from: origin, in: transaction)
            return verified.flatMap { number in
                user.secondFactors.contains { $0.phoneNumber == number }
                    ? .failure(IdentityToolkitError(Self.exists)) : .success(.phone(number))
            }
        case .authenticator(let session, let code):
            let hash = Secrets.hash(session ?? "")
            guard let stored = try transaction.code(hash), stored.expires > transaction.seconds,
                case .authenticator(user.uid, let secret) = stored.purpose
            else { throw IdentityToolkitError("INVALID_SESSION_INFO") }
            guard let period = Authenticator.period(of: code, secret: secret, after: 0, now: transaction.seconds) else {
                throw IdentityToolkitError("INVALID_CODE")
            }
            transaction.delete(stored, hash: hash)
            return .success(.authenticator(secret: secret, lastPeriod: period))
        }
    }

    func withdraw(_ call: SignInCall) async throws -> JSONObject {
        let caller = try caller(call["idToken"])
        let id = call["mfaEnrollmentId"]
        let signedIn = try await users.commit { transaction in
            var user = try self.user(of: caller, in: transaction)
            let index = try require(user.secondFactors.firstIndex { $0.id == id }, "MFA_ENROLLMENT_NOT_FOUND")
            try requireSecondFactor(of: user, caller)
            user.secondFactors.remove(at: index)
            return try reissue(
                user, caller, caller.secondFactor(of: user), from: call.origin, in: transaction)
        }
        return try tokens(of: signedIn)
    }

    private func enrollingCaller(_ call: SignInCall) throws -> Caller {
        let caller = try caller(call["idToken"])
        try require(
            !["anonymous", "phone", "custom", "gc.apple.com"].contains(caller.provider),
            "UNSUPPORTED_FIRST_FACTOR : MFA is not available for the given first factor.")
        return caller
    }

    private func enrollingUser(_ caller: Caller, in reader: some UserReader) throws -> UserRecord {
        let user = try self.user(of: caller, in: reader)
        try require(
            user.isEmailVerified, "UNVERIFIED_EMAIL : Need to verify email first before enrolling second factors.")
        try requireSecondFactor(of: user, caller)
        try require(
            user.secondFactors.count < Self.maxFactors,
            "SECOND_FACTOR_LIMIT_EXCEEDED : A user has at most \(Self.maxFactors) second factors.")
        return user
    }

    /// Second factors are changed by sign-ins that have proved one. A sign-in from before the account had any goes on
    /// with the first factor alone, and may be that of a thief who knows the password.
    private func requireSecondFactor(of user: UserRecord, _ caller: Caller) throws(IdentityToolkitError) {
        try require(
            user.secondFactors.isEmpty || caller.secondFactor(of: user) != nil,
            "CREDENTIAL_TOO_OLD_LOGIN_AGAIN : Sign in with a second factor to change the second factors.")
    }

    /// New tokens of the caller's sign-in, with other second factors.
    private func reissue(
        _ user: UserRecord, _ caller: Caller, _ factor: SignInSession.Factor?, from origin: CallOrigin,
        in transaction: UserTransaction
    ) throws -> SignedInUser {
        let outcome = try complete(
            SignInCandidate(
                user: user, isNew: false, provider: caller.provider,
                claims: try sessionClaims(of: caller, in: transaction), secondFactor: factor,
                asksForSecondFactor: false, signedInAt: caller.signedInAt),
            from: origin, in: transaction)
        guard case .signedIn(let signedIn) = outcome else { throw IdentityToolkitError.internal }
        return signedIn
    }

    /// The claims that the caller's sign-in has beside those of the user, as they are stored with it: its ID token
    /// doesn't tell which these are.
    ///
    /// - Throws: `CREDENTIAL_TOO_OLD_LOGIN_AGAIN` if the sign-in has ended, such as one that was copied, though its ID
    ///   token is still good: a new one would lack the claims that restrict it.
    func sessionClaims(of caller: Caller, in transaction: UserTransaction) throws -> String? {
        let own = try transaction.sessions(of: caller.uid).filter { session in
            // No token names a time after its own, also if the clock was set back since the sign-in.
            session.provider == caller.provider && min(session.signedInAt, caller.issuedAt) == caller.signedInAt
        }
        // In development, tokens are made by hand, too.
        guard !own.isEmpty || isDevelopment else {
            throw IdentityToolkitError("CREDENTIAL_TOO_OLD_LOGIN_AGAIN : This sign-in has ended; sign in again.")
        }
        return own.first { session in
            // Another sign-in of the same second may have others.
            session.claims != nil
                && IDTokenClaims.custom(session.claims).allSatisfy { name, value in
                    IDTokenClaims.reserved.contains(name) || caller.claims[name] == value
                }
        }?.claims
    }

    /// Without `expiresIn`, as Google's.
    private func secondFactorAnswer(_ signedIn: SignedInUser) throws -> JSONObject {
        var answer = try tokens(of: signedIn)
        answer["expiresIn"] = nil
        return answer
    }

    // MARK: Sign-in

    /// Sends a code to the phone that is the second factor.
    func startSecondFactor(_ call: SignInCall) async throws -> JSONObject {
        let credential = try require(
            call["mfaPendingCredential"],
            "MISSING_MFA_PENDING_CREDENTIAL : Request does not have MFA pending credential.")
        let id = try require(
            call["mfaEnrollmentId"], "MISSING_MFA_ENROLLMENT_ID : No second factor identifier is provided.")
        let (uid, number) = try await users.read { users in
            let (_, _, user) = try pendingSignIn(credential, in: users, now: now())
            let factor = try require(user.secondFactors.first { $0.id == id }, "MFA_ENROLLMENT_NOT_FOUND")
            return (user.uid, try require(factor.phoneNumber, "INVALID_ARGUMENT : MFA provider not supported!"))
        }
        let session = try await sendCode(to: number, for: .secondFactor(uid: uid), call) { transaction in
            _ = try pendingSignIn(credential, in: transaction, now: transaction.seconds)
        }
        return ["phoneResponseInfo": ["sessionInfo": .string(session)]]
    }

    func finishSecondFactor(_ call: SignInCall) async throws -> JSONObject {
        let credential = try require(
            call["mfaPendingCredential"], "MISSING_CREDENTIAL : Please set MFA Pending Credential.")
        let proof = try SecondFactorProof(call.fields)
        let id = call["mfaEnrollmentId"]
        let (subjects, pending) = try await users.read { users in
            let (_, session, user) = try pendingSignIn(credential, in: users, now: now())
            let subjects = attempts.subjects(account: "second factor of " + user.uid, address: call.origin.network)
            try attempts.begin(subjects, in: users, now: now())
            return (subjects, session)
        }
        defer { attempts.end(subjects) }
        let method = SignInMethod(pending.provider, secondFactor: proof.name)
        let result: SignInResult<Never> = try await signIn(call, by: method) { transaction in
            let (stored, session, user) = try pendingSignIn(credential, in: transaction, now: transaction.seconds)
            switch try usedFactor(proof, id: id, of: user, from: call.origin, in: transaction) {
            case .failure(let error):
                try attempts.fail(subjects, in: transaction)
                return .failure(error)
            case .success(let (user, factor)):
                transaction.delete(stored, hash: Secrets.hash(credential))
                try attempts.succeed(subjects, in: transaction)
                return .signIn(
                    SignInCandidate(
                        user: user, isNew: false, provider: session.provider, claims: session.claims,
                        secondFactor: .init(id: factor.id, kind: factor.signInName)))
            }
        }
        guard case .signedIn(let signedIn) = result.outcome else { throw IdentityToolkitError.internal }
        return try secondFactorAnswer(signedIn)
    }

    private func usedFactor(
        _ proof: SecondFactorProof, id: String?, of user: UserRecord, from origin: CallOrigin,
        in transaction: UserTransaction
    ) throws -> Result<(UserRecord, SecondFactor), IdentityToolkitError> {
        switch proof {
        case .phone(let session, let code):
            let verified = try verifyPhone(
                session, code, for: .secondFactor(uid: user.uid), from: origin, in: transaction)
            return verified.flatMap { number in
                guard let factor = user.secondFactors.first(where: { $0.phoneNumber == number }) else {
                    return .failure(IdentityToolkitError("MFA_ENROLLMENT_NOT_FOUND"))
                }
                return .success((user, factor))
            }
        case .authenticator(_, let code):
            let index = try require(
                user.secondFactors.firstIndex { factor in
                    guard case .authenticator = factor.kind else { return false }
                    return id == nil || factor.id == id
                }, "MFA_ENROLLMENT_NOT_FOUND")
            var user = user
            guard case .authenticator(let secret, let last) = user.secondFactors[index].kind else {
                throw IdentityToolkitError.internal
            }
            guard let period = Authenticator.period(of: code, secret: secret, after: last, now: transaction.seconds)
            else { return .failure(IdentityToolkitError("INVALID_CODE")) }
            user.secondFactors[index].kind = .authenticator(secret: secret, lastPeriod: period)
            return .success((user, user.secondFactors[index]))
        }
    }

    private func pendingSignIn(
        _ credential: String, in reader: some UserReader, now: Int64
    ) throws -> (code: OneTimeCode, session: SignInSession, user: UserRecord) {
        guard let stored = try reader.code(Secrets.hash(credential)), stored.expires > now,
            case .secondFactor(let session) = stored.purpose, let user = try reader.user(session.uid),
            session.signedInAt >= user.validSince ?? 0, stored.signInGeneration == user.signInGeneration
        else { throw IdentityToolkitError("INVALID_MFA_PENDING_CREDENTIAL") }
        try require(!user.isDisabled, "USER_DISABLED")
        return (stored, session, user)
    }
}

/// What proves a second factor.
private enum SecondFactorProof: Sendable {
    case phone(session: String, code: String)
    /// The session is that of an enrollment.
    case authenticator(session: String?, code: String)

    /// `phone` or `totp`.
    var name: String {
        switch self {
        case .phone: "phone"
        case .authenticator: "totp"
        }
    }

    init(_ fields: SignInRequest) throws(IdentityToolkitError) {
        if let info = fields.message("totpVerificationInfo") {
            self = .authenticator(
                session: info["sessionInfo"], code: try require(info["verificationCode"], "MISSING_CODE"))
            return
        }
        let info = try require(
            fields.message("phoneVerificationInfo"), "INVALID_ARGUMENT : MFA provider not supported!")
        if info.has("androidVerificationProof") {
            throw .notSupported("androidVerificationProof is not supported.")
        }
        self = .phone(
            session: try require(info["sessionInfo"], "MISSING_SESSION_INFO"),
            code: try require(info["code"], "MISSING_CODE"))
    }
}

extension SecondFactor {
    /// `sign_in_second_factor`.
    var signInName: String {
        switch kind {
        case .phone: "phone"
        case .authenticator: "totp"
        }
    }

    /// The phones that an admin enrolls. Those without an id get one.
    static func list(_ given: [SignInRequest], at now: Int64) throws(IdentityToolkitError) -> [SecondFactor] {
        var factors: [SecondFactor] = []
        for fields in given {
            let kind: SecondFactor.Kind
            if let app = fields.message("totpInfo") {
                // Our exports have it, so that apps keep working. Without the factor, a password alone would do.
                let secret = try require(
                    app["sharedSecretKey"],
                    "INVALID_ARGUMENT : totpInfo has no sharedSecretKey, which Firebase doesn't export: remove the "
                        + "authenticator app from mfaInfo; the user signs in without it until one is enrolled again.")
                kind = .authenticator(
                    secret: try require(
                        Authenticator.secret(in: secret),
                        "INVALID_ARGUMENT : sharedSecretKey is not a secret of 10 to 64 bytes in base 32."),
                    lastPeriod: 0)
            } else {
                let number = try require(
                    fields["phoneInfo"].flatMap { Contact.phoneNumber($0) },
                    "INVALID_MFA_PHONE_NUMBER : Invalid format.")
                guard !factors.contains(where: { $0.phoneNumber == number }) else { continue }
                kind = .phone(number)
            }
            let id = fields["mfaEnrollmentId"] ?? Secrets.id()
            try require(!factors.contains { $0.id == id }, "DUPLICATE_MFA_ENROLLMENT_ID")
            let enrolledAt = fields["enrolledAt"].flatMap { Timestamp(rfc3339: $0) }
            factors.append(
                SecondFactor(
                    id: id, displayName: fields["displayName"],
                    enrolledAt: enrolledAt.map { $0.microseconds / 1000 } ?? now,
                    kind: kind))
        }
        return factors
    }
}
