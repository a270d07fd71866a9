import StrictJSON
import UserStore

extension IdentityToolkit {
    private static let maxPhoneFailures = 5
    /// The values of `operation`, at their numbers.
    private static let phoneOperations = ["VERIFY_OP_UNSPECIFIED", "SIGN_UP_OR_IN", "REAUTH", "UPDATE", "LINK"]
    private static let unsupportedFirstFactor = IdentityToolkitError(
        "UNSUPPORTED_FIRST_FACTOR : A phone number cannot be set as a first factor on an SMS based MFA user.")

    /// Sends a code by text message.
    func sendVerificationCode(_ call: SignInCall) async throws -> JSONObject {
        let number = try require(call["phoneNumber"].flatMap { Contact.phoneNumber($0) }, Contact.invalidNumber)
        let session = try await sendCode(to: number, for: .signIn, call) { transaction in
            let known = try transaction.user(phoneNumber: number)
            guard known?.secondFactors.isEmpty ?? true else { throw Self.unsupportedFirstFactor }
        }
        return ["sessionInfo": .string(session)]
    }

    /// Sends a code to a phone number, at most one in a minute for each address that asks.
    ///
    /// - Parameter check: throws if the number may not be used.
    /// - Returns: the session.
    func sendCode(
        to number: String, for use: PhoneChallenge.Use, _ call: SignInCall,
        _ check: @escaping @Sendable (UserTransaction) throws -> Void
    ) async throws -> String {
        try require(
            codes.takesTexts,
            "OPERATION_NOT_ALLOWED : This host sends no text messages: auth.sms in functions.json is missing.")
        let (session, code) = (Secrets.text(), Secrets.digits())
        let subject = MessageSubject(phoneNumber: number, from: call.origin.network)
        try await users.commit { transaction in
            try check(transaction)
            // Each session has a few attempts; many sessions have no more.
            try attempts.check(
                attempts.subject(phoneNumber: number, address: call.origin.network), in: transaction,
                now: transaction.seconds)
            let expires = transaction.seconds + CodeLifetime.phone
            if codes.sendsTexts {
                try codes.queue.requireRoom(in: transaction)
                try countMessage(call, in: transaction)
                let isRepeated = try codes.queue.hasRecent(subject, in: transaction, now: transaction.seconds)
                // Each session has a code of its own, so that this one would have none.
                try require(
                    isDevelopment || !isRepeated,
                    "TOO_MANY_ATTEMPTS_TRY_LATER : A code was sent to this number less than a minute ago.")
                if !isRepeated {
                    let content = TextContent(phoneNumber: number, code: code, language: call.origin.language)
                    try codes.queue.append(.text(content), of: subject, expires: expires, in: transaction)
                }
            }
            let challenge = PhoneChallenge(
                phoneNumber: number, for: use, proof: Self.proof(session, code), code: isDevelopment ? code : nil)
            transaction.insert(
                OneTimeCode(
                    .phone(challenge), createdAt: transaction.milliseconds, expires: expires,
                    text: isDevelopment ? session : nil),
                hash: Secrets.hash(session))
        }
        codes.announce(code: code, to: number)
        return session
    }

    /// Checks the code of a text message, and uses it up.
    ///
    /// - Returns: the phone number, or a failure that is counted: the commit must be kept.
    /// - Throws: an ``IdentityToolkitError`` if the code was sent for another use, or during a pause.
    func verifyPhone(
        _ session: String, _ code: String, for use: PhoneChallenge.Use, from origin: CallOrigin,
        in transaction: UserTransaction
    ) throws -> Result<String, IdentityToolkitError> {
        let hash = Secrets.hash(session)
        guard var stored = try transaction.code(hash), case .phone(var challenge) = stored.purpose,
            challenge.use == use
        else { throw IdentityToolkitError("INVALID_SESSION_INFO") }
        guard stored.expires > transaction.seconds else {
            throw IdentityToolkitError("SESSION_EXPIRED : The code has expired; request another one.")
        }
        let subject = attempts.subject(phoneNumber: challenge.phoneNumber, address: origin.network)
        try attempts.check(subject, in: transaction, now: transaction.seconds)
        guard challenge.proof == Self.proof(session, code) else {
            challenge.failures += 1
            try attempts.fail([subject], in: transaction)
            stored.purpose = .phone(challenge)
            if challenge.failures >= Self.maxPhoneFailures {
                transaction.delete(stored, hash: hash)
            } else {
                transaction.update(stored, hash: hash)
            }
            return .failure(IdentityToolkitError("INVALID_CODE"))
        }
        transaction.delete(stored, hash: hash)
        try attempts.succeed([subject], in: transaction)
        return .success(challenge.phoneNumber)
    }

    private static func proof(_ session: String, _ code: String) -> [UInt8] { Secrets.hash(session + " " + code) }

    /// A proof of a number that belongs to another user than the one to link it to.
    private struct NumberProof: Sendable {
        var text: String
        var number: String
    }

    func signInWithPhoneNumber(_ call: SignInCall) async throws -> JSONObject {
        let proof = call["temporaryProof"]
        let (number, session, code) = (call["phoneNumber"], call["sessionInfo"], call["code"])
        if proof == nil {
            try require(session != nil, "MISSING_SESSION_INFO")
            try require(code != nil, "MISSING_CODE")
        } else {
            try require(number != nil, "MISSING_PHONE_NUMBER")
        }
        let caller = try call["idToken"].map { token throws(IdentityToolkitError) in try self.caller(token) }
        // A user who proves again who they are isn't to become another one.
        let newID = call.fields.choice("operation", Self.phoneOperations) == "REAUTH" ? nil : Secrets.id()
        let result: SignInResult<NumberProof> = try await signIn(call, by: SignInMethod("phone")) { transaction in
            let verified: String
            if let proof {
                verified = try provenNumber(proof, number ?? "", in: transaction)
            } else {
                switch try verifyPhone(
                    session ?? "", code ?? "", for: .signIn, from: call.origin, in: transaction)
                {
                case .success(let number): verified = number
                case .failure(let error): return .failure(error)
                }
            }
            let known = try transaction.user(phoneNumber: verified)
            let linked = try caller.map { try self.user(of: $0, in: transaction) }
            if let known, let linked, known.uid != linked.uid {
                try require(proof == nil, "PHONE_NUMBER_EXISTS")
                return .other(NumberProof(text: insertProof(of: verified, in: transaction), number: verified))
            }
            let new = newID.map { UserRecord(uid: $0, createdAt: transaction.milliseconds) }
            // The code is used up.
            guard var user = linked ?? known ?? new else { return .failure(.userNotFound) }
            guard user.secondFactors.isEmpty else { return .failure(Self.unsupportedFirstFactor) }
            try require(!user.isDisabled, "USER_DISABLED")
            user.phoneNumber = verified
            return .signIn(
                SignInCandidate(
                    user: user, isNew: linked == nil && known == nil, provider: "phone",
                    claims: try caller.flatMap { try sessionClaims(of: $0, in: transaction) }))
        }
        switch result {
        case .other(let proof):
            return [
                "phoneNumber": .string(proof.number), "temporaryProof": .string(proof.text),
                "temporaryProofExpiresIn": .string(String(CodeLifetime.phoneProof)),
            ]
        case .signedIn(let outcome):
            return merged(
                [
                    "isNewUser": .bool(outcome.isNew), "phoneNumber": .string(outcome.user.phoneNumber ?? ""),
                    "localId": .string(outcome.user.uid),
                ], with: try fields(of: outcome))
        }
    }

    private func insertProof(of number: String, in transaction: UserTransaction) -> String {
        let text = Secrets.text()
        transaction.insert(
            OneTimeCode(
                .phoneProof(number), createdAt: transaction.milliseconds,
                expires: transaction.seconds + CodeLifetime.phoneProof),
            hash: Secrets.hash(text))
        return text
    }

    /// A proof can be used until it expires.
    private func provenNumber(_ proof: String, _ given: String, in transaction: UserTransaction) throws -> String {
        guard let stored = try transaction.code(Secrets.hash(proof)), stored.expires > transaction.seconds,
            case .phoneProof(let number) = stored.purpose, Contact.phoneNumber(given) == number
        else { throw IdentityToolkitError("INVALID_TEMPORARY_PROOF") }
        return number
    }
}
