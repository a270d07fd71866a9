import DocumentModel

/// What a random text stands for until it is used or expires. Only a hash of the text is stored.
package struct OneTimeCode: Hashable, Sendable {
    package enum Purpose: Hashable, Sendable {
        /// A link in a mail: `oobCode`.
        case mail(MailAction)
        /// A text message with a code of six digits: `sessionInfo`.
        case phone(PhoneChallenge)
        /// A verified phone number that belongs to another user: `temporaryProof`.
        case phoneProof(String)
        /// A sign-in that waits for its second factor: `mfaPendingCredential`.
        case secondFactor(SignInSession)
        /// The enrollment of an authenticator app: its `sessionInfo`.
        case authenticator(uid: String, secret: [UInt8])
    }

    package var purpose: Purpose
    /// Milliseconds since 1970.
    package var createdAt: Int64
    /// Seconds since 1970.
    package var expires: Int64
    /// The text itself, in development, which lists codes; else nil.
    package var text: String?
    /// The number of its user's sign-ins at that time; 0 if it has no user.
    package var signInGeneration: Int64 = 0

    /// Until when it is stored, in seconds since 1970. Who follows an old link, or types an old code, learns that it has
    /// expired, not that it never was good.
    var keptUntil: Int64 {
        switch purpose {
        case .mail: expires + 30 * 86_400
        case .phone: expires + 86_400
        case .phoneProof, .secondFactor, .authenticator: expires
        }
    }

    package init(
        _ purpose: Purpose, createdAt: Int64, expires: Int64, text: String? = nil, signInGeneration: Int64 = 0
    ) {
        self.purpose = purpose
        self.createdAt = createdAt
        self.expires = expires
        self.text = text
        self.signInGeneration = signInGeneration
    }
}

/// The action of a link in a mail.
package struct MailAction: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case passwordReset = "PASSWORD_RESET"
        case verifyEmail = "VERIFY_EMAIL"
        case verifyAndChangeEmail = "VERIFY_AND_CHANGE_EMAIL"
        case recoverEmail = "RECOVER_EMAIL"
        case emailSignIn = "EMAIL_SIGNIN"
    }

    package var kind: Kind
    /// The address that the action is about, in lower case.
    package var email: String
    package var newEmail: String?
    /// The user that the action is about; nil for a sign-in.
    package var uid: String?
    /// The whole link, in development, which lists it; else nil.
    package var link: String?

    package init(_ kind: Kind, email: String, newEmail: String? = nil, uid: String? = nil, link: String? = nil) {
        self.kind = kind
        self.email = email
        self.newEmail = newEmail
        self.uid = uid
        self.link = link
    }
}

/// A code of six digits that was sent to a phone.
package struct PhoneChallenge: Hashable, Sendable {
    /// What the code proves, and nothing else: guesses count where they help.
    package enum Use: Hashable, Sendable {
        /// A phone number to sign in with, or to link.
        case signIn
        /// The phone of a new second factor.
        case enrollment(uid: String)
        /// A second factor.
        case secondFactor(uid: String)
    }

    package var phoneNumber: String
    package var use: Use
    /// A hash of the session's text and the code, so that neither can be found from what is stored.
    package var proof: [UInt8]
    package var failures: Int
    /// The code itself, in development, which lists it; else nil.
    package var code: String?

    package init(phoneNumber: String, for use: Use, proof: [UInt8], failures: Int = 0, code: String? = nil) {
        self.phoneNumber = phoneNumber
        self.use = use
        self.proof = proof
        self.failures = failures
        self.code = code
    }
}

extension OneTimeCode {
    init(stored bytes: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(bytes)
        createdAt = try reader.signed()
        expires = try reader.signed()
        text = try reader.text()
        switch try reader.byte() {
        case 0: purpose = .mail(try MailAction(from: &reader))
        // Of earlier versions, which didn't tell uses apart.
        case 1: purpose = .phone(try PhoneChallenge(from: &reader, for: .signIn))
        case 2: purpose = .phoneProof(try reader.string())
        case 3: purpose = .secondFactor(try SignInSession(from: &reader))
        case 4: purpose = .authenticator(uid: try reader.string(), secret: try reader.blob())
        case 5:
            let use = try PhoneChallenge.Use(from: &reader)
            purpose = .phone(try PhoneChallenge(from: &reader, for: use))
        case let kind: throw DecodingFailure("there is no code of kind \(kind)")
        }
        // Codes of earlier versions have none.
        if !reader.isAtEnd { signInGeneration = try reader.signed() }
        try reader.finish()
    }

    var stored: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 160)
        writer.write(signed: createdAt)
        writer.write(signed: expires)
        writer.write(text: text)
        switch purpose {
        case .mail(let action):
            writer.write(byte: 0)
            action.write(to: &writer)
        case .phone(let challenge):
            writer.write(byte: 5)
            challenge.use.write(to: &writer)
            challenge.write(to: &writer)
        case .phoneProof(let number):
            writer.write(byte: 2)
            writer.write(number)
        case .secondFactor(let session):
            writer.write(byte: 3)
            session.write(to: &writer)
        case .authenticator(let uid, let secret):
            writer.write(byte: 4)
            writer.write(uid)
            writer.write(blob: secret)
        }
        if signInGeneration != 0 { writer.write(signed: signInGeneration) }
        return writer.bytes
    }
}

extension MailAction {
    fileprivate init(from reader: inout ByteReader) throws(DecodingFailure) {
        let name = try reader.string()
        guard let kind = Kind(rawValue: name) else { throw DecodingFailure("there is no mail of kind \(name)") }
        self.kind = kind
        email = try reader.string()
        newEmail = try reader.text()
        uid = try reader.text()
        link = try reader.text()
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(kind.rawValue)
        writer.write(email)
        for text in [newEmail, uid, link] { writer.write(text: text) }
    }
}

extension PhoneChallenge.Use {
    fileprivate init(from reader: inout ByteReader) throws(DecodingFailure) {
        switch try reader.byte() {
        case 0: self = .signIn
        case 1: self = .enrollment(uid: try reader.string())
        case 2: self = .secondFactor(uid: try reader.string())
        case let number: throw DecodingFailure("a code of a phone has no use \(number)")
        }
    }

    fileprivate func write(to writer: inout ByteWriter) {
        switch self {
        case .signIn: writer.write(byte: 0)
        case .enrollment(let uid):
            writer.write(byte: 1)
            writer.write(uid)
        case .secondFactor(let uid):
            writer.write(byte: 2)
            writer.write(uid)
        }
    }
}

extension PhoneChallenge {
    fileprivate init(from reader: inout ByteReader, for use: Use) throws(DecodingFailure) {
        self.use = use
        phoneNumber = try reader.string()
        proof = try reader.blob()
        failures = Int(try reader.byte())
        code = try reader.text()
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(phoneNumber)
        writer.write(blob: proof)
        writer.write(byte: UInt8(clamping: failures))
        writer.write(text: code)
    }
}
