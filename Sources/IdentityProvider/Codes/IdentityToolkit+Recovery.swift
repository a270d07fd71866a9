import StrictJSON
import UserStore

/// What the owner of an account keeps if another person uses their session: the address that was replaced or taken away gets
/// a code to undo that.
extension IdentityToolkit {
    /// Makes the code for the address that a user had before, and sends it if `isSent`. Development lists it in any case.
    ///
    /// An address that isn't verified gets one only if it is the account's first: otherwise a sign-in could have mails sent to
    /// anyone.
    ///
    /// - Returns: what the code is for; nil if none is due.
    @discardableResult
    func issueRecovery(
        of old: UserRecord, now user: UserRecord, code: String, isSent: Bool? = nil, origin: CallOrigin,
        in transaction: UserTransaction
    ) throws -> MailAction? {
        guard let email = old.email, email != user.email, old.isEmailVerified || email == user.initialEmail else {
            return nil
        }
        let isSent = isSent ?? codes.sendsMail
        let action = MailAction(.recoverEmail, email: email, uid: user.uid)
        if isSent || isDevelopment {
            try issue(
                action, code: code, isSent: isSent, newEmail: user.email, origin: origin, continueURL: nil,
                in: transaction)
        }
        return action
    }

    /// Refuses a code from before the user's sign-ins were ended.
    func requireCurrent(_ code: OneTimeCode, for user: UserRecord) throws(IdentityToolkitError) {
        try require(code.createdAt / 1000 >= user.validSince ?? 0, "INVALID_OOB_CODE")
    }

    func endSignIns(of user: inout UserRecord, in transaction: UserTransaction) throws {
        user.validSince = transaction.seconds
        try transaction.endSessions(of: user.uid)
    }

    /// Takes an address from another account that has not proved to own it, for one whose owner has.
    func releaseAddress(_ email: String, from uid: String, in transaction: UserTransaction) throws {
        guard var other = try transaction.user(email: email), other.uid != uid, !other.isEmailVerified else { return }
        other.removeEmail()
        other.password = nil
        try transaction.update(other)
    }
}
