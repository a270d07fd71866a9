package import Sharing
package import StrictJSON

/// In whose name a request is made.
package enum RealtimePrincipal: Hashable, Sendable {
    /// The operator and the project's own servers: rules don't apply.
    case admin
    /// A client under the rules; nil if it isn't signed in.
    case client(RealtimeAuth?)

    package var isAdmin: Bool { self == .admin }

    /// Who holds the memory of what is sent in this name; nil for clients that haven't signed in.
    package var memoryHolder: MemoryBudget.Holder? {
        switch self {
        case .admin: .host
        case .client(let auth): auth?.uid.map { .user(id: $0) }
        }
    }
}

/// The rules' variable `auth`.
package struct RealtimeAuth: Hashable, Sendable {
    /// `uid`, `provider`, and `token` with the claims; of an admin's override, any object.
    package let variable: JSONValue

    package init(variable: JSONValue) { self.variable = variable }

    /// A user with a verified ID token.
    ///
    /// - Parameter claims: the token's payload.
    package init(uid: String, claims: JSONValue) {
        let provider = claims["firebase"]?["sign_in_provider"]?.stringValue ?? "custom"
        variable = ["uid": .string(uid), "provider": .string(provider), "token": claims]
    }

    package var uid: String? { variable["uid"]?.stringValue }
}
