import DocumentModel
package import StorageEngine

/// Looks up users and what belongs to them, in one state.
package protocol UserReader {
    func value(_ key: [UInt8]) throws -> [UInt8]?
    /// Keys that start with a prefix, in order, up to the limit.
    func keys(startingWith prefix: [UInt8], limit: Int) throws -> [[UInt8]]
}

extension UserReader {
    /// - Throws: `DecodingFailure`, which names the user, if it can't be read, also if the engine finds only this row
    ///   damaged.
    package func user(_ uid: String) throws -> UserRecord? {
        do {
            return try value(UserKeys.user(uid)).map { try UserRecord(uid: uid, stored: $0) }
        } catch let error as StorageError where error.kind == .damaged {
            throw DecodingFailure("uid \(uid): \(error.message)")
        } catch let failure as DecodingFailure {
            throw DecodingFailure("uid \(uid): \(failure.reason)")
        }
    }

    /// - Parameter email: in lower case.
    package func user(email: String) throws -> UserRecord? { try user(at: UserKeys.email(email)) }

    package func user(phoneNumber: String) throws -> UserRecord? { try user(at: UserKeys.phone(phoneNumber)) }

    package func user(provider: String, rawID: String) throws -> UserRecord? {
        try user(at: UserKeys.identity(provider, rawID))
    }

    /// The users with an email address, or with an identity that has it.
    package func users(withEmail email: String) throws -> [UserRecord] {
        var users = try user(email: email).map { [$0] } ?? []
        let prefix = UserKeys.identityEmails(email)
        for key in try keys(startingWith: prefix, limit: 10) {
            let uid = String(decoding: key.dropFirst(prefix.count), as: UTF8.self)
            guard !users.contains(where: { $0.uid == uid }), let user = try user(uid) else { continue }
            users.append(user)
        }
        return users
    }

    package func refreshToken(_ hash: [UInt8]) throws -> RefreshToken? {
        try value(UserKeys.refreshToken(hash)).map { try RefreshToken(stored: $0) }
    }

    /// Whether a user has a refresh token of a sign-in. Looks at all that the user has.
    package func hasFamily(_ family: [UInt8], of uid: String) throws -> Bool {
        try keys(startingWith: UserKeys.tokens(of: uid), limit: .max).contains { key in
            try refreshToken(UserKeys.hash(in: key))?.family == family
        }
    }

    /// A refresh token of a sign-in that is used from an origin, and of which no successor is in use; nil if there is none.
    /// Looks at all that the user has.
    package func currentToken(
        of family: [UInt8], from origin: [UInt8], uid: String
    ) throws -> (hash: [UInt8], token: RefreshToken)? {
        for key in try keys(startingWith: UserKeys.tokens(of: uid), limit: .max) {
            let hash = UserKeys.hash(in: key)
            guard let token = try refreshToken(hash), token.family == family, token.origin == origin,
                token.supersededAt == nil
            else { continue }
            return (hash, token)
        }
        return nil
    }

    /// The sign-ins of a user that have refresh tokens, some of them several times. Looks at all that the user has.
    package func sessions(of uid: String) throws -> [SignInSession] {
        try keys(startingWith: UserKeys.tokens(of: uid), limit: .max).compactMap { key in
            try refreshToken(UserKeys.hash(in: key))?.session
        }
    }

    package func code(_ hash: [UInt8]) throws -> OneTimeCode? {
        try value(UserKeys.code(hash)).map { try OneTimeCode(stored: $0) }
    }

    /// - Parameter subject: the hash of what no two messages within a minute may have in common.
    package func message(_ subject: [UInt8]) throws -> OutgoingMessage? {
        try value(UserKeys.message(subject)).map { try OutgoingMessage(stored: $0) }
    }

    /// Nil if there is none that can be read.
    package func readableMessage(_ subject: [UInt8]) throws -> OutgoingMessage? {
        do { return try message(subject) } catch is DecodingFailure {
            return nil
        } catch let error as StorageError where error.kind == .damaged {
            return nil
        }
    }

    /// The subjects of the messages of a lane that are due at a time, and since when, the longest due first.
    ///
    /// - Parameter latest: messages that would be due after this time are due, too.
    package func dueMessages(
        _ lane: OutgoingMessage.Lane, at now: Int64, orAfter latest: Int64 = .max, limit: Int
    ) throws -> [(subject: [UInt8], due: Int64)] {
        try keys(startingWith: [UserKeys.due(lane).rawValue], limit: limit)
            .map { (UserKeys.hash(in: $0), UserKeys.dueTime(in: $0)) }.filter { $0.1 <= now || $0.1 > latest }
    }

    /// When the next message of one of the lanes is due, in seconds since 1970; nil if there is no message.
    package func nextMessageTime(_ lanes: [OutgoingMessage.Lane]) throws -> Int64? {
        try lanes.compactMap { lane in
            try keys(startingWith: [UserKeys.due(lane).rawValue], limit: 1).first.map(UserKeys.dueTime)
        }.min()
    }

    /// The number of messages that wait to be sent, or are being sent.
    package func waitingMessages() throws -> Int {
        guard let stored = try value(UserKeys.waitingMessages) else { return 0 }
        var reader = ByteReader(stored)
        // A damaged number counts from the start again, since it only limits how many may wait.
        return (try? reader.varint()).map { Int(clamping: $0) } ?? 0
    }

    /// - Parameter subject: an account or an address.
    package func attempts(_ subject: String) throws -> FailedAttempts? {
        try value(UserKeys.attempts(subject)).map { try FailedAttempts(stored: $0) }
    }

    /// A part of the project's settings, in the form that it was stored in.
    package func setting(_ name: String) throws -> [UInt8]? { try value(UserKeys.setting(name)) }

    package func settings(startingWith prefix: String) throws -> [(name: String, value: [UInt8])] {
        try keys(startingWith: UserKeys.setting(prefix), limit: .max).compactMap { key in
            try value(key).map { (UserKeys.text(in: key), $0) }
        }
    }

    private func user(at key: [UInt8]) throws -> UserRecord? {
        guard let uid = try value(key) else { return nil }
        return try user(String(decoding: uid, as: UTF8.self))
    }
}

/// The users in one durable state.
package struct UserSnapshot: UserReader {
    let storage: any StorageReader

    /// - Parameter storage: a state of the store that others read too.
    package init(_ storage: any StorageReader) { self.storage = storage }

    package func value(_ key: [UInt8]) throws -> [UInt8]? { try storage.get(.users, key) }

    package func keys(startingWith prefix: [UInt8], limit: Int) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        guard limit > 0 else { return keys }
        try storage.scanKeys(.users, KeyRange(prefix: prefix), reverse: false) { key in
            keys.append(key)
            return keys.count < limit
        }
        return keys
    }

    /// Users in the order of their ids.
    ///
    /// - Parameters:
    ///   - last: the uid after which to continue.
    ///   - damaged: called with the id of each user who can't be read, and why. They are left out.
    package func users(
        after last: String?, limit: Int, damaged: (_ uid: String, _ reason: String) throws -> Void
    ) throws -> [UserRecord] {
        var users: [UserRecord] = []
        guard limit > 0 else { return users }
        var range = UserKeys.all(.user)
        if let last { range.lower = UserKeys.user(last) + [0] }
        try scan(range, damaged: damaged) { user in
            users.append(user)
            return users.count < limit
        }
        return users
    }

    /// Visits all users in the order of their ids.
    ///
    /// - Parameter damaged: called with the id of each user who can't be read, and why. They are left out.
    package func eachUser(
        _ body: (UserRecord) throws -> Void, damaged: (_ uid: String, _ reason: String) throws -> Void
    ) throws {
        try scan(UserKeys.all(.user), damaged: damaged) { user in
            try body(user)
            return true
        }
    }

    private func scan(
        _ range: KeyRange, damaged: (_ uid: String, _ reason: String) throws -> Void,
        _ body: (UserRecord) throws -> Bool
    ) throws {
        func skipGap(_ last: [UInt8]?, _ next: [UInt8]?, _ error: StorageError) throws {
            // Whose uids can't be read, either.
            let start = last.map { UserKeys.text(in: $0) } ?? ""
            let end = next.map { UserKeys.text(in: $0) } ?? ""
            try damaged("\(start) … \(end)", error.message)
        }
        try storage.scanReadable(
            .users, range, damaged: { try damaged(UserKeys.text(in: $0), $1.message) }, gap: skipGap
        ) { key, value in
            let user: UserRecord
            do throws(DecodingFailure) {
                user = try UserRecord(uid: UserKeys.text(in: key), stored: value)
            } catch {
                try damaged(UserKeys.text(in: key), error.reason)
                return true
            }
            return try body(user)
        }
    }

    package func hasUsers() throws -> Bool { try storage.key(.users, UserKeys.all(.user), after: 0) != nil }

    package func userCount() throws -> Int { try storage.count(.users, UserKeys.all(.user)) }

    /// The codes that were stored with their texts, oldest first.
    package func listedCodes(at now: Int64) throws -> [OneTimeCode] {
        var codes: [OneTimeCode] = []
        try storage.scan(.users, UserKeys.all(.code), reverse: false) { _, value in
            let code = try OneTimeCode(stored: value)
            if code.text != nil, code.expires > now { codes.append(code) }
            return true
        }
        return codes.sorted { $0.createdAt < $1.createdAt }
    }

    /// The identities of a provider, of all users: for a page that offers them in development.
    package func identities(of provider: String, limit: Int) throws -> [ProviderIdentity] {
        var prefix = [UserKeys.Kind.identity.rawValue]
        KeyBytes.append(provider.utf8, to: &prefix)
        return try keys(startingWith: prefix, limit: limit).compactMap { key in
            guard let uid = try value(key), let user = try user(String(decoding: uid, as: UTF8.self)) else {
                return nil
            }
            return user.identities.first { $0.provider == provider }
        }
    }
}
