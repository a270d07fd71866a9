/// Who made a change or published an event, as CloudEvents' `authtype` and `authid` tell it.
public struct EventAuth: Hashable, Sendable {
    public enum AuthType: String, Sendable, Hashable, CaseIterable {
        /// The host's functions, and whoever holds the admin's token.
        case serviceAccount = "service_account"
        case apiKey = "api_key"
        /// The host itself: a schedule, or what is deleted when its time is over.
        case system
        /// A client without a token.
        case unauthenticated
        case unknown
        /// A signed-in user.
        case appUser = "app_user"
    }

    public var type: AuthType
    /// The user's id, where a user made it.
    public var id: String?

    public init(_ type: AuthType, id: String? = nil) {
        self.type = type
        self.id = id
    }
}
