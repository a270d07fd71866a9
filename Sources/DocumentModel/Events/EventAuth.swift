/// The principal that made a change or published an event, as CloudEvents' `authtype` and `authid`.
public struct EventAuth: Hashable, Sendable {
    public enum AuthType: String, Sendable, Hashable, CaseIterable {
        /// A function, or a client with an admin token.
        case serviceAccount = "service_account"
        case apiKey = "api_key"
        /// As `serviceAccount` and `system`, in events of the Realtime Database, which have no other names for them.
        case admin
        /// The host itself: a schedule, or an expired item that it deletes.
        case system
        /// A client without a token.
        case unauthenticated
        case unknown
        /// A signed-in user.
        case appUser = "app_user"
    }

    public var type: AuthType
    /// The user's id, if a user made the change.
    public var id: String?

    public init(_ type: AuthType, id: String? = nil) {
        self.type = type
        self.id = id
    }
}
