import StrictJSON
import Synchronization
import UserStore

extension IdentityToolkit {
    func signInWithEmailLink(_ call: SignInCall) async throws -> JSONObject {
        let caller = try call["idToken"].map { token throws(IdentityToolkitError) in try self.caller(token) }
        let email = try require(
            Contact.email(try require(call["email"], "MISSING_EMAIL")), "INVALID_EMAIL")
        let code = try require(call["oobCode"], "MISSING_OOB_CODE")
        let (newID, recovery) = (Secrets.id(), Secrets.text())
        let recovered = Mutex<MailAction?>(nil)
        let result: SignInResult<Never> = try await signIn(call, by: SignInMethod("emailLink")) { transaction in
            let (stored, action) = try mailAction(code, in: transaction, now: transaction.seconds)
            try require(action.kind == .emailSignIn, "INVALID_OOB_CODE")
            try require(
                action.email == email,
                "INVALID_EMAIL : The email provided does not match the sign-in email address.")
            let known = try transaction.user(email: email)
            let linked = try caller.map { try self.user(of: $0, in: transaction) }
            if let known, let linked { try require(known.uid == linked.uid, "EMAIL_EXISTS") }
            // Who read the mails when it was asked for may have been kept out since.
            if let known, known.isEmailVerified { try requireCurrent(stored, for: known) }
            try use(stored, action, code, in: transaction)
            // Before the sign-ins end.
            let claims = try caller.flatMap { try sessionClaims(of: $0, in: transaction) }
            var user = linked ?? known ?? UserRecord(uid: newID, createdAt: transaction.milliseconds)
            if known != nil, linked == nil, !user.isEmailVerified { try handOver(&user, in: transaction) }
            if user.email != nil, user.email != email { try endSignIns(of: &user, in: transaction) }
            let old = user
            user.replaceEmail(by: email, isVerified: true, at: transaction.milliseconds)
            user.usesEmailLink = true
            let undo = try issueRecovery(of: old, now: user, code: recovery, origin: call.origin, in: transaction)
            recovered.withLock { $0 = undo }
            try require(!user.isDisabled, "USER_DISABLED")
            // As for an account of a provider, SDKs can't ask for a second factor when they link an address.
            return .signIn(
                SignInCandidate(
                    user: user, isNew: linked == nil && known == nil, provider: "password", claims: claims,
                    secondFactor: caller?.secondFactor(of: user), asksForSecondFactor: caller == nil))
        }
        announceRecovery(recovered.withLock { $0 }, code: recovery, origin: call.origin)
        let outcome = result.outcome
        return merged(
            [
                "kind": "identitytoolkit#EmailLinkSigninResponse", "email": .string(email),
                "localId": .string(outcome.user.uid), "isNewUser": .bool(outcome.isNew),
            ], with: try fields(of: outcome))
    }
}
