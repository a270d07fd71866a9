package import DocumentModel
import StorageEngine

/// Why users can't be changed as asked.
package enum UserConflict: Error, Hashable, Sendable {
    case uidExists
    case emailExists
    case phoneNumberExists
    /// Another user has the identity.
    case identityExists(provider: String, rawID: String)
    case noSuchUser
}

/// Changes of users, decided on one after the other on the writer's thread, and applied together.
///
/// It reads the state that the changes are applied to, with its own changes.
package final class UserTransaction: UserReader {
    /// A user that begins or ends to exist.
    enum Lifecycle {
        case created(UserRecord)
        case deleted(UserRecord)
    }

    private let storage: any StorageReader
    /// Values to store; nil for keys to delete. In the order of the first change.
    private(set) var changes: [[UInt8]: [UInt8]?] = [:]
    private(set) var lifecycle: [Lifecycle] = []
    /// The wall clock's time, which may have been later in an earlier transaction.
    package let now: Timestamp

    /// A user keeps the refresh tokens of this many sign-ins: older ones end when there are more.
    package static let maxRefreshTokens = 500

    init(_ storage: any StorageReader, now: Timestamp) {
        self.storage = storage
        self.now = now
    }

    package var milliseconds: Int64 { now.microseconds / 1000 }
    package var seconds: Int64 { now.microseconds / 1_000_000 }

    package func value(_ key: [UInt8]) throws -> [UInt8]? {
        if let changed = changes[key] { return changed }
        return try storage.get(.users, key)
    }

    package func keys(startingWith prefix: [UInt8], limit: Int) throws -> [[UInt8]] {
        let changed = changes.filter { $0.key.starts(with: prefix) }
        var keys: [[UInt8]] = []
        try storage.scanKeys(.users, KeyRange(prefix: prefix), reverse: false) { key in
            if changed[key] == nil { keys.append(key) }
            return keys.count < limit
        }
        keys += changed.filter { $0.value != nil }.map(\.key)
        keys.sort { $0.lexicographicallyPrecedes($1) }
        return Array(keys.prefix(limit))
    }

    private func put(_ key: [UInt8], _ value: [UInt8]) { changes[key] = .some(value) }
    private func remove(_ key: [UInt8]) { changes[key] = .some(nil) }

    /// Takes back what a body has changed, unless it returns true.
    package func attempt(_ body: () throws -> Bool) rethrows -> Bool {
        let before = (changes, lifecycle)
        let isKept = try body()
        if !isKept { (changes, lifecycle) = before }
        return isKept
    }

    // MARK: Users

    /// - Throws: ``UserConflict`` if the uid, or anything else that is unique, belongs to another user.
    package func insert(_ user: UserRecord) throws {
        guard try self.user(user.uid) == nil else { throw UserConflict.uidExists }
        try store(user, replacing: nil)
        lifecycle.append(.created(user))
    }

    /// - Throws: ``UserConflict`` if there is no such user, or something that is unique belongs to another user.
    package func update(_ user: UserRecord) throws {
        guard let old = try self.user(user.uid) else { throw UserConflict.noSuchUser }
        try store(user, replacing: old)
    }

    /// Deletes a user and the refresh tokens.
    ///
    /// - Returns: false if there is no such user.
    @discardableResult
    package func delete(_ uid: String) throws -> Bool {
        guard let user = try user(uid) else { return false }
        for key in Self.references(of: user) { remove(key) }
        remove(UserKeys.user(uid))
        for key in try keys(startingWith: UserKeys.tokens(of: uid), limit: .max) {
            remove(key)
            remove(UserKeys.refreshToken(UserKeys.hash(in: key)))
        }
        lifecycle.append(.deleted(user))
        return true
    }

    private func store(_ user: UserRecord, replacing old: UserRecord?) throws {
        if let email = user.email, email != old?.email, try isTaken(UserKeys.email(email), by: user.uid) {
            throw UserConflict.emailExists
        }
        if let number = user.phoneNumber, number != old?.phoneNumber, try isTaken(UserKeys.phone(number), by: user.uid)
        {
            throw UserConflict.phoneNumberExists
        }
        for identity in user.identities
        where try isTaken(UserKeys.identity(identity.provider, identity.rawID), by: user.uid) {
            throw UserConflict.identityExists(provider: identity.provider, rawID: identity.rawID)
        }
        let (before, after) = (old.map { Self.references(of: $0) } ?? [], Self.references(of: user))
        for key in before where !after.contains(key) { remove(key) }
        for key in after where !before.contains(key) {
            put(key, key.first == UserKeys.Kind.identityEmail.rawValue ? [] : Array(user.uid.utf8))
        }
        put(UserKeys.user(user.uid), user.stored)
    }

    private func isTaken(_ key: [UInt8], by uid: String) throws -> Bool {
        guard let owner = try value(key) else { return false }
        return !owner.elementsEqual(uid.utf8)
    }

    /// The keys under which a user is found beside the uid.
    static func references(of user: UserRecord) -> Set<[UInt8]> {
        var keys: Set<[UInt8]> = []
        if let email = user.email { keys.insert(UserKeys.email(email)) }
        if let number = user.phoneNumber { keys.insert(UserKeys.phone(number)) }
        for identity in user.identities {
            keys.insert(UserKeys.identity(identity.provider, identity.rawID))
            if let email = identity.email { keys.insert(UserKeys.identityEmail(email, of: user.uid)) }
        }
        return keys
    }

    // MARK: Refresh tokens

    package func insert(_ token: RefreshToken, hash: [UInt8]) throws {
        put(UserKeys.refreshToken(hash), token.stored)
        let uid = token.session.uid
        put(UserKeys.token(hash, of: uid, issuedAt: token.issuedAt), [])
        let all = try keys(startingWith: UserKeys.tokens(of: uid), limit: .max)
        guard all.count > Self.maxRefreshTokens else { return }
        // Not this one, nor its predecessor: the oldest sign-in isn't to end because it moves to another network.
        let inUse = [hash, token.predecessor]
        let others = all.filter { !inUse.contains(UserKeys.hash(in: $0)) }
        for key in others.prefix(all.count - Self.maxRefreshTokens) {
            remove(key)
            remove(UserKeys.refreshToken(UserKeys.hash(in: key)))
        }
    }

    package func update(_ token: RefreshToken, hash: [UInt8]) { put(UserKeys.refreshToken(hash), token.stored) }

    package func delete(_ token: RefreshToken, hash: [UInt8]) {
        remove(UserKeys.token(hash, of: token.session.uid, issuedAt: token.issuedAt))
        remove(UserKeys.refreshToken(hash))
    }

    /// Ends all of a user's sign-ins.
    package func endSessions(of uid: String) throws { try endSessions(of: uid) { _ in true } }

    /// Ends a user's refresh tokens of one sign-in.
    package func endFamily(_ family: [UInt8], of uid: String) throws {
        try endSessions(of: uid) { hash in try refreshToken(hash)?.family == family }
    }

    private func endSessions(of uid: String, where isMeant: (_ hash: [UInt8]) throws -> Bool) throws {
        for key in try keys(startingWith: UserKeys.tokens(of: uid), limit: .max) {
            let hash = UserKeys.hash(in: key)
            guard try isMeant(hash) else { continue }
            remove(key)
            remove(UserKeys.refreshToken(hash))
        }
    }

    // MARK: Codes

    package func insert(_ code: OneTimeCode, hash: [UInt8]) {
        put(UserKeys.code(hash), code.stored)
        put(UserKeys.expiry(hash, at: code.keptUntil), [])
    }

    /// Replaces a code, which keeps its time of expiry.
    package func update(_ code: OneTimeCode, hash: [UInt8]) { put(UserKeys.code(hash), code.stored) }

    package func delete(_ code: OneTimeCode, hash: [UInt8]) {
        remove(UserKeys.code(hash))
        remove(UserKeys.expiry(hash, at: code.keptUntil))
        // Earlier versions kept no code longer.
        remove(UserKeys.expiry(hash, at: code.expires))
    }

    // MARK: Messages

    /// Queues a message, or replaces it. An earlier one of the same subject is forgotten, even if it wasn't sent.
    ///
    /// - Parameter subject: the hash of what no two messages within a minute may have in common.
    package func store(_ message: OutgoingMessage, subject: [UInt8]) throws {
        try replaceMessage(with: message, subject)
    }

    /// Replaces a row that says wrongly when a message is due. A message that can't be read is deleted. One that the
    /// engine finds damaged only ceases to be due: deleting it could fail, and with that all commits of the batch.
    ///
    /// - Returns: whether the message is damaged.
    @discardableResult
    package func repairDue(_ subject: [UInt8], _ lane: OutgoingMessage.Lane, at due: Int64) throws -> Bool {
        remove(UserKeys.messageDue(subject, lane, at: due))
        do {
            guard let message = try message(subject) else { return false }
            put(UserKeys.messageDue(subject, message.lane, at: message.due), [])
            return false
        } catch is DecodingFailure {
            try deleteMessage(subject)
            return true
        } catch let error as StorageError where error.kind == .damaged {
            // It was counted, most likely.
            try changeWaitingMessages(by: -1)
            return true
        }
    }

    package func deleteMessage(_ subject: [UInt8]) throws { try replaceMessage(with: nil, subject) }

    private func replaceMessage(with new: OutgoingMessage?, _ subject: [UInt8]) throws {
        let hadContent: Bool
        do {
            let old = try message(subject)
            if let old { remove(UserKeys.messageDue(subject, old.lane, at: old.due)) }
            hadContent = old?.content != nil
        } catch is DecodingFailure {
            // It was counted, most likely. The row that says when it is due is repaired at that time.
            hadContent = true
        }
        if let new {
            put(UserKeys.message(subject), new.stored)
            put(UserKeys.messageDue(subject, new.lane, at: new.due), [])
        } else {
            remove(UserKeys.message(subject))
        }
        try changeWaitingMessages(by: (new?.content == nil ? 0 : 1) - (hadContent ? 1 : 0))
    }

    private func changeWaitingMessages(by change: Int) throws {
        guard change != 0 else { return }
        let count = try waitingMessages() + change
        if count > 0 {
            put(UserKeys.waitingMessages, UserKeys.stored(count: count))
        } else {
            remove(UserKeys.waitingMessages)
        }
    }

    // MARK: Consumed tokens

    /// Records that an App Check token was consumed, until it expires.
    ///
    /// - Parameters:
    ///   - hash: of the token.
    ///   - expires: Seconds since 1970.
    /// - Returns: whether it had been consumed before.
    package func consume(_ hash: [UInt8], expires: Int64) throws -> Bool {
        let key = UserKeys.consumed(hash)
        guard try value(key) == nil else { return true }
        var writer = ByteWriter(reservingCapacity: 8)
        writer.write(signed: expires)
        put(key, writer.bytes)
        put(UserKeys.consumedExpiry(hash, at: expires), [])
        return false
    }

    // MARK: Attempts and settings

    /// - Parameter attempts: nil to forget them.
    package func setAttempts(_ attempts: FailedAttempts?, of subject: String) {
        let key = UserKeys.attempts(subject)
        if let attempts { put(key, attempts.stored) } else { remove(key) }
    }

    /// - Parameter value: nil to delete the setting.
    package func set(_ name: String, to value: [UInt8]?) {
        let key = UserKeys.setting(name)
        if let value { put(key, value) } else { remove(key) }
    }
}
