import CommitPipeline
import DocumentModel
import StorageEngine

/// Checks that users, and the rows by which they are found, agree.
final class UserCheck {
    private let run: CheckRun
    private let users: UserSnapshot
    private var waitingMessages = 0

    init(_ run: CheckRun) {
        self.run = run
        users = UserSnapshot(run.storage)
    }

    /// - Returns: the number of users.
    func check() throws -> Int {
        var count = 0
        try run.storage.scan(.users, .all, reverse: false) { key, value in
            let kind = key.first.flatMap(UserKeys.Kind.init(rawValue:))
            if kind == .user { count += 1 }
            do {
                try check(kind, key, value)
            } catch let error as DecodingFailure {
                try run.note("\(Self.name(of: kind, key)) can't be read: \(error.reason)")
            }
            return true
        }
        let counted = try? users.waitingMessages()
        if counted != waitingMessages {
            try run.note("\(waitingMessages) messages wait to be sent, and \(counted ?? 0) are counted")
        }
        return count
    }

    private func check(_ kind: UserKeys.Kind?, _ key: [UInt8], _ value: [UInt8]) throws {
        switch kind {
        case .user:
            let user = try UserRecord(uid: UserKeys.text(in: key), stored: value)
            for reference in UserTransaction.references(of: user) where try run.storage.get(.users, reference) == nil {
                try run.note("the user \(user.uid) isn't found by \(Self.name(of: reference))")
            }
        case .email, .phone, .identity:
            try check(reference: key, to: String(decoding: value, as: UTF8.self))
        case .identityEmail:
            let uid = key.lastIndex(of: 0).map { String(decoding: key[($0 + 1)...], as: UTF8.self) } ?? ""
            try check(reference: key, to: uid)
        case .refreshToken:
            let token = try RefreshToken(stored: value)
            let listed = UserKeys.token(UserKeys.hash(in: key), of: token.session.uid, issuedAt: token.issuedAt)
            if try run.storage.get(.users, listed) == nil {
                try run.note("a refresh token of the user \(token.session.uid) isn't among the user's tokens")
            }
            if try users.user(token.session.uid) == nil {
                try run.note("a refresh token belongs to the user \(token.session.uid), who doesn't exist")
            }
        case .tokenOfUser:
            if try users.value(UserKeys.refreshToken(UserKeys.hash(in: key))) == nil {
                try run.note("a refresh token that a user has is missing")
            }
        case .code:
            let code = try OneTimeCode(stored: value)
            // Codes of earlier versions are removed when they expire.
            let times = [code.keptUntil, code.expires]
            if try times.allSatisfy({ try users.value(UserKeys.expiry(UserKeys.hash(in: key), at: $0)) == nil }) {
                try run.note("a one-time code would never expire")
            }
        case .expiry:
            if try users.value(UserKeys.code(UserKeys.hash(in: key))) == nil {
                try run.note("a one-time code that is due to expire is missing")
            }
        case .consumed:
            var reader = ByteReader(value)
            let expires = try reader.signed()
            try reader.finish()
            if try users.value(UserKeys.consumedExpiry(UserKeys.hash(in: key), at: expires)) == nil {
                try run.note("a consumed token would never be forgotten")
            }
        case .consumedExpiry:
            if try users.value(UserKeys.consumed(UserKeys.hash(in: key))) == nil {
                try run.note("a consumed token that is due to be forgotten is missing")
            }
        case .attempts: _ = try FailedAttempts(stored: value)
        case .setting: break
        case .message:
            let message = try OutgoingMessage(stored: value)
            if message.content != nil { waitingMessages += 1 }
            if try users.value(UserKeys.messageDue(UserKeys.hash(in: key), message.lane, at: message.due)) == nil {
                try run.note("a message would never be sent")
            }
        case .mailDue, .textDue:
            if try users.message(UserKeys.hash(in: key)) == nil { try run.note("a message that is due is missing") }
        // Compared with the messages when all were seen.
        case .waitingMessages: break
        case nil: try run.note("the table of users has a row of an unknown kind")
        }
    }

    private func check(reference key: [UInt8], to uid: String) throws {
        guard let user = try users.user(uid) else {
            return try run.note("\(Self.name(of: key)) leads to the user \(uid), who doesn't exist")
        }
        if !UserTransaction.references(of: user).contains(key) {
            try run.note("\(Self.name(of: key)) leads to the user \(uid), who has another")
        }
    }

    private static func name(of kind: UserKeys.Kind?, _ key: [UInt8]) -> String {
        kind == .user ? "the user \(UserKeys.text(in: key))" : "a row of the table of users"
    }

    /// What a user is found by; not the address or number itself, which reports must not contain.
    private static func name(of reference: [UInt8]) -> String {
        switch reference.first.flatMap(UserKeys.Kind.init(rawValue:)) {
        case .email: "an email address"
        case .phone: "a phone number"
        case .identity: "an account at a provider"
        default: "the email address of an account at a provider"
        }
    }
}
