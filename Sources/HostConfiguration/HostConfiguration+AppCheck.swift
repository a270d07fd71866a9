extension HostConfiguration {
    /// App Check: the apps that get tokens here, and which services demand tokens.
    package struct AppCheck: Hashable, Sendable {
        /// In the file's order.
        package var apps: [App] = []
        package var functions = Mode.off
        package var firestore = Mode.off
        package var database = Mode.off
        package var auth = Mode.off

        package init() {}

        package enum Mode: String, Hashable, Sendable, CaseIterable {
            /// Tokens aren't looked at, except by functions that demand them.
            case off
            /// Tokens are counted in the metrics.
            case unenforced
            /// Requests without a valid token are refused.
            case enforced
        }

        package struct App: Hashable, Sendable {
            /// Such as `1:1234567890:web:0a1b2c`.
            package var id: String
            /// The names of the secrets that are its debug tokens.
            package var debugTokens: [String] = []
            /// The lifetime of its tokens.
            package var ttlSeconds = 3600

            package init(id: String) { self.id = id }
        }
    }
}
