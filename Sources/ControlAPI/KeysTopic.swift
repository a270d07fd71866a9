import ControlProtocol
import DocumentModel
import Foundation
package import Hummingbird
package import ServiceAccounts
package import TokenVerification

/// The key that signs users' tokens after a rotation.
package struct SigningKeyReport: Codable, Hashable, Sendable {
    package var id: String

    init(_ key: SigningKey) { id = key.keyID }
}

/// The command `keys` on the running host.
package struct KeysTopic: ControlTopic {
    private let store: ServiceAccountStore
    private let signing: SigningKeys?

    /// - Parameter signing: nil if this host signs no tokens.
    package init(_ store: ServiceAccountStore, signing: SigningKeys?) {
        self.store = store
        self.signing = signing
    }

    package func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        routes.answer("keys/list") { [store] _ in store.keys }
        routes.answer("keys/add") { [store] parameters in
            guard
                let key = try? JSONDecoder().decode(
                    ServiceAccountKey.self, from: Data(try parameters.required("key").utf8))
            else { throw DocumentError.invalidArgument("the parameter key is not a key") }
            try Self.perform { try store.add(key) }
            return key
        }
        routes.answer("keys/revoke") { [store] parameters in
            let id = try parameters.required("id")
            return try Self.perform { try store.revoke(id) }
        }
        routes.answer("keys/rotate") { [signing] parameters in
            guard let signing else { throw DocumentError(.failedPrecondition, KeyAccess.signsNothing) }
            return try Self.perform {
                SigningKeyReport(try signing.rotate(early: parameters.has("early")))
            }
        }
    }

    /// The command prints the message as it is.
    private static func perform<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as ServiceAccountError {
            throw DocumentError(.failedPrecondition, error.description)
        } catch let error as SigningKeyError {
            throw DocumentError(.failedPrecondition, error.description)
        }
    }
}
