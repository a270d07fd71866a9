import DocumentModel
public import StrictJSON
import UserModel

/// The users in a transaction: what it changes of users and of documents is one commit, with its events, or nothing.
///
///     onCall("joinTeam") { (request: CallableRequest<String>, transaction: Transaction) in
///         let uid = try request.requireAuth().uid
///         let reference = transaction.firestore.collection("teams").document(request.data)
///         let team = try await transaction.getDocument(reference)
///         guard team.exists else { throw HttpsError(.notFound, "There is no such team.") }
///         try transaction.users.setCustomClaims(["team": .string(team.documentID)], for: uid)
///         try transaction.updateData(["members": FieldValue.increment(1)], forDocument: team.reference)
///     }
///
/// Reads come before writes, as with documents. Each read sees the latest state, and the commit fails with `aborted` if a
/// user that was read has changed since, a sign-in included: the transaction then runs again. Writes are checked with the
/// commit, which throws ``AuthError`` if one is refused; nothing is kept then. A transaction reads and writes at most 100
/// users each.
///
/// Links, custom tokens and lists aren't here: they belong before or after the transaction. A standalone bundle has
/// no transactions with users, since Firebase Authentication has none.
public struct TransactionUsers: Sendable {
    private let transaction: Transaction

    init(_ transaction: Transaction) { self.transaction = transaction }

    // MARK: Reading

    /// The user with an id.
    ///
    /// - Throws: ``AuthError`` with `userNotFound` if there is none; `failedPrecondition` after the first write, or in a
    ///   read-only transaction.
    public func get(_ uid: String) async throws -> UserRecord { try await get(.uid(uid)) }

    /// The user with an email address, in any case.
    ///
    /// - Throws: As ``get(_:)-(String)``.
    public func get(email: String) async throws -> UserRecord { try await get(.email(email)) }

    /// The user with a phone number, such as `+4915112345678`.
    ///
    /// - Throws: As ``get(_:)-(String)``.
    public func get(phoneNumber: String) async throws -> UserRecord { try await get(.phoneNumber(phoneNumber)) }

    /// The user with an account at a provider.
    ///
    /// - Throws: As ``get(_:)-(String)``.
    public func get(providerID: String, providerUID: String) async throws -> UserRecord {
        try await get(.provider(providerID, uid: providerUID))
    }

    private func get(_ identifier: UserIdentifier) async throws -> UserRecord {
        guard let user = try await get([identifier]).users.first else { throw AuthError.noUser(identifier) }
        return user
    }

    /// Up to 100 users in one round trip. Those that don't exist are in `notFound`; if one is created until the commit, the
    /// transaction runs again.
    ///
    /// - Throws: ``AuthError`` with `maximumUserCountExceeded` for more; otherwise as ``get(_:)-(String)``.
    public func get(_ identifiers: [UserIdentifier]) async throws -> GetUsersResult {
        guard !identifiers.isEmpty else { return GetUsersResult(users: [], notFound: []) }
        let answer = try await transaction.read(try UserRequest.lookup(identifiers))
        return try GetUsersResult(of: identifiers, answer: try UserRequest.parse(answer))
    }

    // MARK: Writing

    /// Creates a user with the commit, which fails with ``AuthError`` if its uid, address or number is taken, or its
    /// password is too weak.
    ///
    /// - Returns: The user's id, a new one if the creation has none.
    /// - Throws: `failedPrecondition` in a read-only transaction.
    @discardableResult
    public func create(_ user: UserCreation) throws -> String {
        var user = user
        let uid = user.uid ?? Self.makeUID()
        user.uid = uid
        try write(.create, user.body)
        return uid
    }

    /// Changes a user with the commit, which fails with ``AuthError`` `userNotFound` if there is none, or if the change is
    /// refused. No mail goes to an address that the user had before.
    ///
    /// - Throws: What the body throws; `failedPrecondition` in a read-only transaction.
    public func update(_ uid: String, _ change: (inout UserUpdate) throws -> Void) throws {
        var update = UserUpdate()
        try change(&update)
        try write(.update, try update.body(for: uid))
    }

    /// Replaces a user's custom claims with the commit; nil removes them. See ``Users/setCustomClaims(_:for:)``.
    public func setCustomClaims(_ claims: [String: JSONValue]?, for uid: String) throws {
        try update(uid) { $0.customClaims = claims }
    }

    /// Disables a user with the commit. See ``Users/disable(_:)``.
    public func disable(_ uid: String) throws { try update(uid) { $0.disabled = true } }

    /// Lets a disabled user sign in again, with the commit.
    public func enable(_ uid: String) throws { try update(uid) { $0.disabled = false } }

    /// Ends all of a user's sign-ins with the commit. See ``Users/revokeRefreshTokens(for:)``.
    public func revokeRefreshTokens(for uid: String) throws {
        let now = transaction.firestore.transport.now.seconds
        try update(uid) { $0.validSince = now }
    }

    /// Deletes a user with the commit, which fails with ``AuthError`` `userNotFound` if there is none.
    ///
    /// - Throws: `failedPrecondition` in a read-only transaction.
    public func delete(_ uid: String) throws { try write(.delete, ["localId": .string(uid)]) }

    private func write(_ operation: UserRequest.Operation, _ body: JSONObject) throws {
        let request = UserRequest(operation, body: try JSONValue.object(body).serialized())
        try request.check()
        try transaction.buffer(request)
    }

    /// As Firebase makes them: 28 letters and digits.
    private static func makeUID() -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<28).compactMap { _ in alphabet.randomElement() })
    }
}

extension Transaction {
    /// The users, whose changes are a part of the transaction.
    public var users: TransactionUsers { TransactionUsers(self) }
}
