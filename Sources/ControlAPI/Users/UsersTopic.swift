import ControlProtocol
import DocumentModel
package import Hummingbird
package import IdentityProvider
import StrictJSON

/// The `users` commands on the running host.
package struct UsersTopic: ControlTopic {
    private let users: UserAdministration?

    /// A thousand users with all that they can have.
    private static let maxBytes = 32 << 20

    /// - Parameter users: nil if the users are Google's.
    package init(_ users: UserAdministration?) { self.users = users }

    package func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        for operation in UserAdministration.Operation.allCases {
            routes.answer("users/\(operation.rawValue)", maxBody: Self.maxBytes) { [users] body in
                guard let users else {
                    throw DocumentError(
                        .failedPrecondition,
                        "the users of this host are Google's: \"auth\": { \"issuer\": \"own\" } in functions.json makes "
                            + "the host sign users in itself; \"firebase auth:import\" and the console change Google's")
                }
                return try await users.perform(operation, body)
            }
        }
    }
}
