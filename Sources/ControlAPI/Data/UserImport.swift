import DocumentModel
import UserStore

/// Imports users in batches. Each batch is a commit that replaces users with the same uid, and causes no events.
struct UserImport {
    private static let maxUsers = 500

    private let store: UserStore?
    private var batch: [(line: Int, user: UserRecord)] = []
    /// The number of users that are durable.
    private(set) var imported = 0

    /// - Parameter store: nil if there is none: then no user can be imported.
    init(_ store: UserStore?) { self.store = store }

    /// Adds a user, and commits once enough have been added.
    ///
    /// - Throws: `DocumentError` if another user has what is unique, the line in its message, or the store can't commit.
    ///   Users imported before that stay.
    mutating func add(_ user: UserRecord, line: Int) async throws {
        if batch.count >= Self.maxUsers { try await finish() }
        batch.append((line, user))
    }

    /// Commits the remaining users.
    mutating func finish() async throws {
        guard !batch.isEmpty else { return }
        guard let store else { throw DocumentError(.unimplemented, "this store can't have users") }
        try await store.commit(in: OperationContext(firesEvents: false)) { [batch] transaction in
            for (line, user) in batch { try Self.release(user.uid, line: line, in: transaction) }
            for (line, user) in batch {
                do {
                    var user = user
                    if let old = try transaction.user(user.uid) {
                        // No token or code from before is good any more, even if it was revoked since the export.
                        user.signInGeneration = old.signInGeneration &+ 1
                        try transaction.update(user)
                        try transaction.endSessions(of: user.uid)
                    } else {
                        user.randomizeSignInGeneration()
                        try transaction.insert(user)
                    }
                } catch let conflict as UserConflict {
                    throw DocumentError(
                        .alreadyExists, "line \(line): the user \(user.uid) can't be stored: \(Self.reason(conflict))")
                }
            }
        }
        imported += batch.count
        batch = []
    }

    /// Takes from a user who is replaced what is unique: another of the batch may have it now, in exchange.
    private static func release(_ uid: String, line: Int, in transaction: UserTransaction) throws {
        do {
            guard var user = try transaction.user(uid) else { return }
            (user.email, user.phoneNumber, user.identities) = (nil, nil, [])
            try transaction.update(user)
        } catch let failure as DecodingFailure {
            throw DocumentError(
                .dataLoss,
                "line \(line): the user \(uid), who is to be replaced, can't be read, the store is damaged: "
                    + failure.reason)
        }
    }

    private static func reason(_ conflict: UserConflict) -> String {
        switch conflict {
        case .uidExists: "another user has this uid"
        case .emailExists: "another user has this email address"
        case .phoneNumberExists: "another user has this phone number"
        case .identityExists(let provider, _): "another user has this account at \(provider)"
        case .noSuchUser: "there is no such user"
        }
    }
}
