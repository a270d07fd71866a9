import StrictJSON
import UserStore

/// What the owner of an account keeps if another person uses their session: the address that was replaced or taken away gets
/// a code to undo that.
extension IdentityToolkit {
    /// Makes a code that undoes the loss of an address, and sends it. Development lists it in any case. An admin's change
    /// needs none.
    ///
    /// - Returns: what the code is for; nil if none is due.
    func issueRecovery(
        of old: UserRecord, now user: UserRecord, code: String, origin: CallOrigin,
        in transaction: UserTransaction
    ) throws -> MailAction? {
        guard old.email != nil, old.email != user.email, let email = user.recoveryEmail, email != user.email else {
            return nil
        }
        let isSent = codes.sendsMail
        let action = MailAction(.recoverEmail, email: email, uid: user.uid)
        if isSent || isDevelopment {
            try issue(
                action, code: code, isSent: isSent, newEmail: user.email, origin: origin, continueURL: nil,
                in: transaction)
        }
        return action
    }

    /// Takes a lost address from another account that has it by now, without having verified it: the code was sent to the
    /// address, so its owner restores it.
    ///
    /// - Parameter wasVerified: whether the user had verified it. Otherwise the other account may be that of its owner.
    func takeBack(
        _ email: String, wasVerified: Bool, for user: UserRecord, in transaction: UserTransaction
    ) throws {
        guard var holder = try transaction.user(email: email), holder.uid != user.uid else { return }
        guard wasVerified, !holder.isEmailVerified else { throw IdentityToolkitError.lostAddressIsTaken }
        (holder.email, holder.password, holder.usesEmailLink) = (nil, nil, false)
        try endSignIns(of: &holder, in: transaction)
        try transaction.update(holder)
    }

    /// Call once the code is stored.
    func announceRecovery(_ action: MailAction?, code: String, origin: CallOrigin) {
        guard let action else { return }
        codes.announce(action, link: link(for: action, code: code, origin: origin, continueURL: nil))
    }

    /// Refuses a code from before the user's sign-ins were ended.
    func requireCurrent(_ code: OneTimeCode, for user: UserRecord) throws(IdentityToolkitError) {
        try require(
            code.createdAt / 1000 >= user.validSince ?? 0 && code.signInGeneration == user.signInGeneration,
            "INVALID_OOB_CODE")
    }

    /// Ends the sign-ins of a user: no token from before is good any more, nor a code that must be current.
    func endSignIns(of user: inout UserRecord, in transaction: UserTransaction) throws {
        user.validSince = transaction.seconds
        // A new user has none.
        guard try transaction.user(user.uid) != nil else { return }
        user.signInGeneration &+= 1
        try transaction.endSessions(of: user.uid)
    }
}
