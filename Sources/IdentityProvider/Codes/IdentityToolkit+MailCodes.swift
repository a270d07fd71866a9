import StrictJSON
import TextFormats
import UserStore

extension MailAction.Kind {
    /// The values of `requestType`, at their numbers.
    static let requestTypes = [
        "OOB_REQ_TYPE_UNSPECIFIED", "PASSWORD_RESET", "OLD_EMAIL_AGREE", "NEW_EMAIL_ACCEPT", "VERIFY_EMAIL",
        "RECOVER_EMAIL", "EMAIL_SIGNIN", "VERIFY_AND_CHANGE_EMAIL", "REVERT_SECOND_FACTOR_ADDITION",
    ]

    /// The value of `mode` in links.
    var mode: String {
        switch self {
        case .passwordReset: "resetPassword"
        case .verifyEmail: "verifyEmail"
        case .verifyAndChangeEmail: "verifyAndChangeEmail"
        case .recoverEmail: "recoverEmail"
        case .emailSignIn: "signIn"
        }
    }
}

extension IdentityToolkit {
    /// Makes a code and sends it in a mail; an admin may ask for the link in place of the mail.
    func sendMailCode(_ call: SignInCall) async throws -> JSONObject {
        let type = call.fields.choice("requestType", MailAction.Kind.requestTypes)
        guard let type, type != MailAction.Kind.requestTypes[0] else { throw IdentityToolkitError("MISSING_REQ_TYPE") }
        guard let kind = MailAction.Kind(rawValue: type), kind != .recoverEmail else {
            throw IdentityToolkitError("INVALID_REQ_TYPE : There are no mails of the type \(type).")
        }
        let returnsLink = call.fields.flag("returnOobLink") == true
        if returnsLink { try require(call.isAdmin, "INSUFFICIENT_PERMISSION") }
        let continueURL = call["continueUrl"]
        if let continueURL {
            try require(
                WebAddress(continueURL) != nil,
                "INVALID_CONTINUE_URI : ((expected an absolute URI with valid scheme and host))")
            try require(
                isDevelopment || WebAddress(continueURL).map(isAuthorized) == true,
                "UNAUTHORIZED_DOMAIN : The site of continueUrl is not among the authorized domains.")
        }
        try require(
            returnsLink || codes.takesMail,
            "OPERATION_NOT_ALLOWED : This host sends no mail: auth.mail in functions.json is missing.")
        let isSent = !returnsLink && codes.sendsMail
        let caller = try mailCaller(call, kind, returnsLink: returnsLink)
        let email = try caller == nil ? require(call["email"], "MISSING_EMAIL") : nil
        let newEmail =
            try kind == .verifyAndChangeEmail
            ? require(Contact.email(require(call["newEmail"], "MISSING_NEW_EMAIL")), "INVALID_NEW_EMAIL") : nil
        if isSent, let to = newEmail ?? email.flatMap({ Contact.email($0) }) {
            try require(MailAddress(to) != nil, newEmail == nil ? "INVALID_EMAIL" : "INVALID_NEW_EMAIL")
        }
        if !returnsLink { try await askBeforeMail(kind, email, call) }
        let code = Secrets.text()
        let (action, isReal) = try await users.commit { transaction -> (MailAction, Bool) in
            // Before anything depends on whether there is such a user.
            if isSent {
                try codes.queue.requireRoom(in: transaction)
                try countMessage(call, in: transaction)
            }
            let (action, isReal) = try self.mailAction(
                kind, caller, email: email, newEmail: newEmail, isAdmin: returnsLink, in: transaction)
            if isReal {
                try require(!isSent || MailAddress(action.receiver) != nil, "INVALID_EMAIL")
                try issue(
                    action, code: code, isSent: isSent, origin: call.origin, continueURL: continueURL, in: transaction)
            } else {
                try issueDecoy(
                    action, code: code, isSent: isSent, origin: call.origin, continueURL: continueURL, in: transaction)
            }
            return (action, isReal)
        }
        var answer: JSONObject = [
            "kind": "identitytoolkit#GetOobConfirmationCodeResponse", "email": .string(action.email),
        ]
        let link = link(for: action, code: code, origin: call.origin, continueURL: continueURL)
        guard isReal else {
            codes.announceDecoy(action, link: link)
            return answer
        }
        if returnsLink {
            answer["oobCode"] = .string(code)
            answer["oobLink"] = .string(link)
        } else {
            codes.announce(action, link: link)
        }
        return answer
    }

    /// Limits the messages that one client has sent, to whichever receivers. Admins have no limit.
    func countMessage(_ call: SignInCall, in transaction: UserTransaction) throws {
        guard !call.isAdmin, let sender = attempts.subject(sender: call.origin.network) else { return }
        try attempts.check(sender, in: transaction, now: transaction.seconds)
        try attempts.fail([sender], in: transaction)
    }

    /// A function may refuse mails that anyone can ask for.
    private func askBeforeMail(_ kind: MailAction.Kind, _ email: String?, _ call: SignInCall) async throws {
        guard kind == .passwordReset || kind == .emailSignIn, blocking.has(.beforeSendEmail), let email else { return }
        if !call.isAdmin, let asking = attempts.subject(askingFrom: call.origin.network) {
            try await users.commit { transaction in
                try attempts.check(asking, in: transaction, now: transaction.seconds)
                try attempts.fail([asking], in: transaction)
            }
        }
        var event = blockingEvent(.beforeSendEmail, nil, nil, call)
        event["email"] = .string(email.lowercased())
        event["email_type"] = kind == .passwordReset ? "PASSWORD_RESET" : "EMAIL_SIGN_IN"
        do throws(BlockingRefusal) {
            _ = try await blocking.run(.beforeSendEmail, event)
        } catch {
            throw error.error
        }
    }

    /// The caller whose address the mail goes to; nil if the request names an address.
    private func mailCaller(
        _ call: SignInCall, _ kind: MailAction.Kind, returnsLink: Bool
    ) throws(IdentityToolkitError) -> Caller? {
        switch kind {
        case .passwordReset, .emailSignIn, .recoverEmail: return nil
        case .verifyEmail, .verifyAndChangeEmail:
            if returnsLink, call["idToken"] == nil { return nil }
            if kind == .verifyAndChangeEmail { return try self.caller(call["idToken"]) }
            return try self.caller(require(call["idToken"], "INVALID_ID_TOKEN"))
        }
    }

    /// - Returns: the action, and whether it is possible: where it isn't, and the answer must not show that, it is to be
    ///   forgotten.
    private func mailAction(
        _ kind: MailAction.Kind, _ caller: Caller?, email given: String?, newEmail: String?, isAdmin: Bool,
        in transaction: UserTransaction
    ) throws -> (action: MailAction, isReal: Bool) {
        let isHidden = try !isAdmin && settings(transaction).hidesAccounts
        var user: UserRecord?
        let email: String
        if let caller {
            let known = try self.user(of: caller, in: transaction)
            email = try require(known.email, "MISSING_EMAIL")
            user = known
        } else {
            email = try require(given.flatMap { Contact.email($0) }, "INVALID_EMAIL")
            guard kind != .emailSignIn else { return (MailAction(kind, email: email), true) }
            user = try transaction.user(email: email)
        }
        guard let user else {
            guard kind == .passwordReset else { throw IdentityToolkitError("USER_NOT_FOUND") }
            try require(isHidden, "EMAIL_NOT_FOUND")
            return (MailAction(kind, email: email), false)
        }
        let action = MailAction(kind, email: email, newEmail: newEmail, uid: user.uid)
        guard let newEmail, try transaction.user(email: newEmail) != nil else { return (action, true) }
        try require(isHidden, "EMAIL_EXISTS")
        return (action, false)
    }

    /// Is never used: storing it takes as long as storing a code.
    private func insertDecoy(in transaction: UserTransaction) {
        transaction.insert(
            OneTimeCode(.phoneProof(""), createdAt: transaction.milliseconds, expires: transaction.seconds),
            hash: Secrets.hash(Secrets.text()))
    }

    /// Does what ``issue(_:code:isSent:newEmail:origin:continueURL:in:)`` does, for nothing: the time hardly shows whether there is an account.
    private func issueDecoy(
        _ action: MailAction, code: String, isSent: Bool, origin: CallOrigin, continueURL: String?,
        in transaction: UserTransaction
    ) throws {
        insertDecoy(in: transaction)
        // Of its own: a user who signs up meanwhile gets their mail.
        let subject = MessageSubject(action, isDecoy: true)
        guard isSent, MailAddress(action.receiver) != nil,
            try !codes.queue.hasRecent(subject, in: transaction, now: transaction.seconds)
        else { return }
        try queueMail(
            action, to: "", of: subject, expires: transaction.seconds + CodeLifetime.mail(action.kind),
            link: link(for: action, code: code, origin: origin, continueURL: continueURL), language: origin.language,
            in: transaction)
    }

    private func queueMail(
        _ action: MailAction, to receiver: String, newEmail: String? = nil, of subject: MessageSubject, expires: Int64,
        link: String, language: String, in transaction: UserTransaction
    ) throws {
        let content = MailContent(
            action.kind, to: receiver, link: link, email: action.email, newEmail: newEmail ?? action.newEmail,
            displayName: try action.uid.flatMap { try transaction.user($0) }?.displayName, language: language)
        try codes.queue.append(.mail(content), of: subject, expires: expires, in: transaction)
    }

    /// Stores a code, and queues its mail if one is to be sent.
    ///
    /// Within a minute one mail of a kind is sent to an address. Another request has the same answer; its code isn't stored,
    /// and the one in the mail stays good. Development stores it, and lists it.
    ///
    /// - Parameters:
    ///   - isSent: whether a mail is to be sent. The address must be a ``MailAddress``, or none is sent all the same.
    ///   - newEmail: the address that has taken the place of the action's.
    func issue(
        _ action: MailAction, code: String, isSent: Bool, newEmail: String? = nil, origin: CallOrigin,
        continueURL: String?, in transaction: UserTransaction
    ) throws {
        let subject = MessageSubject(action)
        let isMailed = isSent && MailAddress(action.receiver) != nil
        let isRepeated =
            try isMailed && codes.queue.hasRecent(subject, in: transaction, now: transaction.seconds)
        guard isDevelopment || !isRepeated else { return insertDecoy(in: transaction) }
        let link = link(for: action, code: code, origin: origin, continueURL: continueURL)
        let expires = transaction.seconds + CodeLifetime.mail(action.kind)
        var listed = action
        if isDevelopment { listed.link = link }
        var user =
            if let uid = action.uid { try transaction.user(uid) } else { try transaction.user(email: action.email) }
        if user?.limitRevocation(to: transaction.seconds) == true, let user { try transaction.update(user) }
        transaction.insert(
            OneTimeCode(
                .mail(listed), createdAt: transaction.milliseconds, expires: expires,
                text: isDevelopment ? code : nil, signInGeneration: user?.signInGeneration ?? 0),
            hash: Secrets.hash(code))
        guard isMailed, !isRepeated else { return }
        do { try codes.queue.requireRoom(in: transaction) } catch {
            // What the mail is about has happened.
            if action.kind == .recoverEmail { return }
            throw error
        }
        try queueMail(
            action, to: action.receiver, newEmail: newEmail, of: subject, expires: expires, link: link,
            language: origin.language, in: transaction)
    }

    /// The link in a mail: to the team's own page, or the built-in one.
    func link(for action: MailAction, code: String, origin: CallOrigin, continueURL: String?) -> String {
        var parameters = "mode=\(action.kind.mode)&lang=\(origin.language)"
        parameters += "&oobCode=\(PercentEncoding.encoded(code))&apiKey=\(PercentEncoding.encoded("fake-api-key"))"
        if let continueURL { parameters += "&continueUrl=\(PercentEncoding.encoded(continueURL))" }
        if let page = configuration.actionPage.flatMap(WebAddress.init) { return page.adding(query: parameters) }
        return (configuration.publicAddress ?? origin.base) + "/emulator/action?" + parameters
    }

    // MARK: Using a code

    /// The action of a code that can still be used.
    func mailAction(
        _ code: String, in reader: some UserReader, now: Int64
    ) throws -> (code: OneTimeCode, action: MailAction) {
        guard let stored = try reader.code(Secrets.hash(code)), case .mail(let action) = stored.purpose else {
            throw IdentityToolkitError.invalidCode
        }
        guard stored.expires > now else { throw IdentityToolkitError.expiredCode }
        return (stored, action)
    }

    /// Uses a code up.
    func use(_ stored: OneTimeCode, _ action: MailAction, _ code: String, in transaction: UserTransaction) throws {
        transaction.delete(stored, hash: Secrets.hash(code))
        try codes.queue.endPause(of: MessageSubject(action), in: transaction)
    }

    /// Tells what a code is for, and sets the new password if there is one.
    func resetPassword(_ call: SignInCall) async throws -> JSONObject {
        let code = try require(call["oobCode"], "MISSING_OOB_CODE")
        let action = try await users.read { try mailAction(code, in: $0, now: now()).action }
        if let password = call["newPassword"] {
            try require(action.kind == .passwordReset, "INVALID_OOB_CODE")
            try configuration.passwordPolicy.check(password)
            let hash = try await passwords.hash(password, for: call.origin.network)
            let subjects = attempts.subjects(account: action.email, address: call.origin.network)
            try await users.commit { transaction in
                let (stored, action) = try mailAction(code, in: transaction, now: transaction.seconds)
                var user = try userOfCode(stored, action, in: transaction)
                try use(stored, action, code, in: transaction)
                // The new password has made earlier sign-in links invalid.
                try codes.queue.endPause(
                    of: MessageSubject(MailAction(.emailSignIn, email: action.email)), in: transaction)
                if !user.isEmailVerified { try handOver(&user, in: transaction) }
                user.isEmailVerified = true
                try setPassword(hash, of: &user, in: transaction)
                try transaction.update(user)
                try attempts.succeed(subjects, in: transaction)
            }
        }
        var answer: JSONObject = [
            "kind": "identitytoolkit#ResetPasswordResponse", "requestType": .string(action.kind.rawValue),
        ]
        // Who follows a link to sign in has to know the address.
        if action.kind != .emailSignIn { answer["email"] = .string(action.email) }
        answer["newEmail"] = action.newEmail.map(JSONValue.string)
        return answer
    }

    /// Verifies, changes or restores an email address.
    func apply(_ code: String, from origin: CallOrigin) async throws -> JSONObject {
        let recovery = Secrets.text()
        let (user, newEmail, recovered) = try await users.commit { transaction in
            let (stored, action) = try mailAction(code, in: transaction, now: transaction.seconds)
            var user = try userOfCode(stored, action, in: transaction)
            let old = user
            switch action.kind {
            case .passwordReset, .emailSignIn: throw IdentityToolkitError.invalidCode
            case .verifyEmail: user.isEmailVerified = true
            case .verifyAndChangeEmail:
                user.replaceEmail(by: action.newEmail, isVerified: true, at: transaction.milliseconds)
            case .recoverEmail:
                // Who has changed the address may know the password, and have added ways to sign in since. A later change
                // has sent a later code.
                try handOver(&user, in: transaction)
                let lostAt = old.recoverySince ?? stored.createdAt
                user.secondFactors.removeAll { $0.enrolledAt >= lostAt }
                try takeBack(action.email, wasVerified: old.isRecoveryVerified, for: user, in: transaction)
                user.email = action.email
                user.isEmailVerified = true
            }
            let recovered =
                action.kind == .verifyAndChangeEmail
                ? try issueRecovery(of: old, now: user, code: recovery, origin: origin, in: transaction) : nil
            if user.email != action.email || action.kind == .recoverEmail {
                try endSignIns(of: &user, in: transaction)
            }
            try use(stored, action, code, in: transaction)
            try transaction.update(user)
            return (user, action.newEmail, recovered)
        }
        announceRecovery(recovered, code: recovery, origin: origin)
        var answer = updateAnswer(user)
        answer["newEmail"] = newEmail.map(JSONValue.string)
        return answer
    }

    /// The user that a code is about. If the address has changed since, the code is no longer good; neither is one for a
    /// password or another address, if the user's sign-ins were ended since.
    private func userOfCode(
        _ code: OneTimeCode, _ action: MailAction, in transaction: UserTransaction
    ) throws -> UserRecord {
        guard let uid = action.uid, let user = try transaction.user(uid) else { throw IdentityToolkitError.invalidCode }
        switch action.kind {
        case .recoverEmail:
            try require(
                user.email != action.email && action.email == user.recoveryEmail ?? user.initialEmail
                    && code.createdAt >= user.recoverySince ?? .min, "INVALID_OOB_CODE")
        case .verifyEmail, .emailSignIn: try require(user.email == action.email, "INVALID_OOB_CODE")
        case .passwordReset, .verifyAndChangeEmail:
            try require(user.email == action.email, "INVALID_OOB_CODE")
            try requireCurrent(code, for: user)
        }
        return user
    }
}
