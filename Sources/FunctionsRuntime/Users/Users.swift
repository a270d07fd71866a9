import DocumentModel
public import StrictJSON
import UserModel
import WorkerProtocol

/// The project's users, with admin access: what Firebase's Admin SDKs call `Auth`.
///
///     onCall("makeStaff") { (request: CallableRequest<String>) in
///         guard try request.requireAuth().token["owner"] == .bool(true) else { throw HttpsError(.permissionDenied, "…") }
///         let user = try await request.users.get(email: request.data)
///         try await request.users.setCustomClaims(["staff": true], for: user.uid)
///     }
///
/// Each call is one operation of its own. In a transaction use ``Transaction/users``: users and documents change together
/// or not at all. A change has happened when its call returns; if the call throws `DocumentError` with `unavailable`, it
/// may have.
///
/// Functions are notified of users that are created and deleted here; blocking functions aren't asked. The users are
/// those of the host's own sign-in. A standalone bundle manages those of its project in Firebase Authentication,
/// with the service account that it runs as.
public struct Users: Sendable {
    private let transport: any DocumentTransport

    package init(transport: any DocumentTransport) { self.transport = transport }

    // MARK: Reading

    /// The user with an id.
    ///
    /// - Throws: ``AuthError`` with `userNotFound` if there is none; `DocumentError` if the users can't be reached.
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
    /// - Parameters:
    ///   - providerID: Such as `google.com`.
    ///   - providerUID: The account's id there.
    /// - Throws: As ``get(_:)-(String)``.
    public func get(providerID: String, providerUID: String) async throws -> UserRecord {
        try await get(.provider(providerID, uid: providerUID))
    }

    private func get(_ identifier: UserIdentifier) async throws -> UserRecord {
        guard let user = try await get([identifier]).users.first else { throw AuthError.noUser(identifier) }
        return user
    }

    /// Up to 100 users in one round trip. Those that don't exist are in `notFound`.
    ///
    /// - Throws: ``AuthError`` with `maximumUserCountExceeded` for more; `DocumentError` if the users can't be reached.
    public func get(_ identifiers: [UserIdentifier]) async throws -> GetUsersResult {
        guard !identifiers.isEmpty else { return GetUsersResult(users: [], notFound: []) }
        let request = try UserRequest.lookup(identifiers)
        return try GetUsersResult(of: identifiers, answer: try await send(request))
    }

    /// A page of all users.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of users, 1 to 1,000.
    ///   - pageToken: That of the page before; nil for the first.
    /// - Throws: ``AuthError`` with `argumentError` for another limit; `DocumentError` if the users can't be reached.
    public func list(limit: Int = 1000, after pageToken: String? = nil) async throws -> ListUsersResult {
        guard (1...1000).contains(limit) else {
            throw AuthError(.argumentError, "a page has 1 to 1,000 users, not \(limit)")
        }
        var body: JSONObject = ["maxResults": .integer(Int64(limit))]
        body["nextPageToken"] = pageToken.map(JSONValue.string)
        let answer = try await send(.list, body)
        let token = answer["nextPageToken"]?.stringValue
        return ListUsersResult(
            users: try (answer["users"]?.arrayValue ?? []).map { try UserRecord(account: $0) },
            pageToken: token.flatMap { $0.isEmpty ? nil : $0 })
    }

    /// All users, page by page: `for try await user in request.users.all { … }`.
    public var all: UserSequence { UserSequence(users: self) }

    // MARK: Changing

    /// Creates a user.
    ///
    /// - Returns: The user as stored.
    /// - Throws: ``AuthError``, such as `emailAlreadyExists`, `uidAlreadyExists` or `invalidPassword`: nothing was created.
    @discardableResult
    public func create(_ user: UserCreation) async throws -> UserRecord {
        let answer = try await send(.create, user.body)
        guard let uid = answer["localId"]?.stringValue else {
            throw DocumentError(.internal, "the users' service returned a new user without an id")
        }
        return try await get(uid)
    }

    /// Changes a user: `try await request.users.update(uid) { $0.displayName = "Ada" }`.
    ///
    /// - Returns: The user as stored.
    /// - Throws: ``AuthError``, such as `userNotFound` or `emailAlreadyExists`: nothing was changed.
    @discardableResult
    public func update(_ uid: String, _ change: (inout UserUpdate) throws -> Void) async throws -> UserRecord {
        var update = UserUpdate()
        try change(&update)
        _ = try await send(.update, try update.body(for: uid))
        return try await get(uid)
    }

    /// Replaces a user's custom claims, which tokens have from the next refresh on.
    ///
    /// - Parameters:
    ///   - claims: At most 1,000 characters as JSON; nil to remove them.
    ///   - uid: The user's id.
    /// - Throws: ``AuthError``, such as `userNotFound`, `forbiddenClaim` for a reserved name, or `claimsTooLarge`.
    public func setCustomClaims(_ claims: [String: JSONValue]?, for uid: String) async throws {
        try await change(uid) { $0.customClaims = claims }
    }

    /// Keeps a user from signing in and from refreshing tokens. A token that the user has stays valid for up to an hour.
    ///
    /// - Throws: ``AuthError`` with `userNotFound`.
    public func disable(_ uid: String) async throws { try await change(uid) { $0.disabled = true } }

    /// Lets a disabled user sign in again.
    ///
    /// - Throws: ``AuthError`` with `userNotFound`.
    public func enable(_ uid: String) async throws { try await change(uid) { $0.disabled = false } }

    /// Ends all of a user's sign-ins: refresh tokens from before aren't accepted any more. ID tokens stay valid for up to
    /// an hour where they are verified without asking.
    ///
    /// - Throws: ``AuthError`` with `userNotFound`.
    public func revokeRefreshTokens(for uid: String) async throws {
        let now = transport.now.seconds
        try await change(uid) { $0.validSince = now }
    }

    private func change(_ uid: String, _ change: (inout UserUpdate) -> Void) async throws {
        var update = UserUpdate()
        change(&update)
        _ = try await send(.update, try update.body(for: uid))
    }

    /// Deletes a user. Functions of `onUserDeleted` are notified.
    ///
    /// - Throws: ``AuthError`` with `userNotFound`.
    public func delete(_ uid: String) async throws { _ = try await send(.delete, ["localId": .string(uid)]) }

    /// Deletes up to 1,000 users. Those that don't exist count as deleted.
    ///
    /// - Throws: ``AuthError`` with `maximumUserCountExceeded` for more; `DocumentError` if the users can't be reached.
    @discardableResult
    public func delete(_ uids: [String]) async throws -> DeleteUsersResult {
        guard !uids.isEmpty else { return DeleteUsersResult(successCount: 0, failures: []) }
        guard uids.count <= 1000 else {
            throw AuthError(.maximumUserCountExceeded, "at most 1,000 users are deleted at once, not \(uids.count)")
        }
        let answer = try await send(
            .deleteBatch, ["localIds": .array(uids.map(JSONValue.string)), "force": true])
        let failures = (answer["errors"]?.arrayValue ?? []).map { error in
            DeleteUsersResult.Failure(
                index: error["index"]?.intValue ?? 0, message: error["message"]?.stringValue ?? "")
        }
        return DeleteUsersResult(successCount: uids.count - failures.count, failures: failures)
    }

    // MARK: The request

    func send(_ operation: UserRequest.Operation, _ body: JSONObject) async throws -> JSONValue {
        try await send(UserRequest(operation, body: JSONValue.object(body).serialized()))
    }

    private func send(_ request: UserRequest) async throws -> JSONValue {
        try request.check()
        return try UserRequest.parse(try await transport.users(request))
    }
}

extension DocumentTransport {
    /// - Throws: ``AuthError`` if the request is refused, `DocumentError` if there is no answer.
    func users(_ request: UserRequest) async throws -> [UInt8] {
        switch try await send(.users(request)) {
        case .users(let answer): return answer
        case .usersRefused(let message): throw AuthError(refusal: message)
        case let response: throw DocumentError.unexpected(response, to: "an operation on users")
        }
    }
}

extension UserRequest {
    static func lookup(_ identifiers: [UserIdentifier]) throws -> UserRequest {
        guard identifiers.count <= 100 else {
            throw AuthError(
                .maximumUserCountExceeded, "at most 100 users are looked up at once, not \(identifiers.count)")
        }
        return UserRequest(.lookUp, body: try JSONValue.object(UserIdentifier.body(of: identifiers)).serialized())
    }

    static func parse(_ answer: [UInt8]) throws(DocumentError) -> JSONValue {
        do {
            return try JSONValue(parsing: answer)
        } catch {
            throw DocumentError(.internal, "the answer about users isn't JSON: \(error)")
        }
    }
}

extension GetUsersResult {
    init(of identifiers: [UserIdentifier], answer: JSONValue) throws {
        let users = try (answer["users"]?.arrayValue ?? []).map { try UserRecord(account: $0) }
        self.init(
            users: users, notFound: identifiers.filter { identifier in !users.contains { identifier.matches($0) } })
    }
}

extension AuthError {
    static func noUser(_ identifier: UserIdentifier) -> AuthError {
        AuthError(.userNotFound, "no user has \(identifier)")
    }
}

/// All users of a project. They are read in pages: users that are created meanwhile may be missing.
public struct UserSequence: AsyncSequence, Sendable {
    public typealias Element = UserRecord
    fileprivate let users: Users

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let users: Users
        fileprivate var page: ArraySlice<UserRecord> = []
        fileprivate var pageToken: String?
        fileprivate var isLast = false

        /// - Throws: `DocumentError` if the users can't be reached.
        public mutating func next() async throws -> UserRecord? {
            while page.isEmpty {
                guard !isLast else { return nil }
                let next = try await users.list(after: pageToken)
                page = next.users[...]
                pageToken = next.pageToken
                isLast = pageToken == nil
            }
            return page.popFirst()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(users: users) }
}

extension FunctionContext {
    /// The project's users, with admin access.
    public var users: Users { Users(transport: invocation.transport) }
}

extension FunctionInput {
    /// The project's users, with admin access.
    public var users: Users { context.users }
}
