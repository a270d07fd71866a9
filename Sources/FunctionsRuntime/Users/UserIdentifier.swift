import StrictJSON

/// What a user is looked up by.
public struct UserIdentifier: Hashable, Sendable {
    private enum Kind: Hashable {
        case uid(String)
        case email(String)
        case phoneNumber(String)
        case provider(id: String, uid: String)
    }

    private let kind: Kind

    public static func uid(_ uid: String) -> UserIdentifier { UserIdentifier(kind: .uid(uid)) }
    /// In any case.
    public static func email(_ email: String) -> UserIdentifier { UserIdentifier(kind: .email(email)) }
    public static func phoneNumber(_ number: String) -> UserIdentifier { UserIdentifier(kind: .phoneNumber(number)) }
    /// The account at a provider: `.provider("google.com", uid: "1234")`.
    public static func provider(_ id: String, uid: String) -> UserIdentifier {
        switch id {
        // These follow from the user's address and number.
        case "password", "email": .email(uid)
        case "phone": .phoneNumber(uid)
        default: UserIdentifier(kind: .provider(id: id, uid: uid))
        }
    }

    func matches(_ user: UserRecord) -> Bool {
        switch kind {
        case .uid(let uid): user.uid == uid
        case .email(let email): user.email?.lowercased() == email.lowercased()
        case .phoneNumber(let number): user.phoneNumber.map { $0.digits == number.digits } ?? false
        case .provider(let id, let uid): user.providerData.contains { $0.providerID == id && $0.uid == uid }
        }
    }

    /// The body of a lookup.
    static func body(of identifiers: [UserIdentifier]) -> JSONObject {
        var (uids, emails, numbers, accounts) = ([JSONValue](), [JSONValue](), [JSONValue](), [JSONValue]())
        for identifier in identifiers {
            switch identifier.kind {
            case .uid(let uid): uids.append(.string(uid))
            case .email(let email): emails.append(.string(email))
            case .phoneNumber(let number): numbers.append(.string(number))
            case .provider(let id, let uid): accounts.append(["providerId": .string(id), "rawId": .string(uid)])
            }
        }
        var body: JSONObject = [:]
        for (name, values) in [
            ("localId", uids), ("email", emails), ("phoneNumber", numbers), ("federatedUserId", accounts),
        ] where !values.isEmpty {
            body[name] = .array(values)
        }
        return body
    }
}

extension UserIdentifier: CustomStringConvertible {
    /// Without the address or number itself, which logs shouldn't have.
    public var description: String {
        switch kind {
        case .uid(let uid): "the uid \(uid)"
        case .email: "this email address"
        case .phoneNumber: "this phone number"
        case .provider(let id, _): "this account at \(id)"
        }
    }
}

extension String {
    /// A phone number without spaces and hyphens.
    fileprivate var digits: String { filter { $0.isASCII && $0.isNumber } }
}

/// The users of several identifiers.
public struct GetUsersResult: Hashable, Sendable {
    /// Each user once, in no particular order.
    public let users: [UserRecord]
    /// The identifiers that no user has.
    public let notFound: [UserIdentifier]
}

/// A page of a project's users.
public struct ListUsersResult: Hashable, Sendable {
    /// In an order of the users' own, by their ids.
    public let users: [UserRecord]
    /// Continues with the next page; nil if this is the last.
    public let pageToken: String?
}

/// The outcome of deleting several users.
public struct DeleteUsersResult: Hashable, Sendable {
    /// A user that wasn't deleted.
    public struct Failure: Error, Hashable, Sendable {
        /// The user's place in the request.
        public let index: Int
        public let message: String
    }

    /// Users that don't exist count as deleted.
    public let successCount: Int
    public let failures: [Failure]
    public var failureCount: Int { failures.count }
}
