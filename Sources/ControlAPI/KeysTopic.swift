import ControlProtocol
import DocumentModel
import Foundation
package import Hummingbird
package import ServiceAccounts
package import TokenVerification

/// The key that signs tokens after a rotation.
package struct SigningKeyReport: Codable, Hashable, Sendable {
    package var id: String

    init(_ key: SigningKey) { id = key.keyID }
}

/// The command `keys` on the running host.
package struct KeysTopic: ControlTopic {
    private let store: ServiceAccountStore
    private let signing: SigningKeys?
    private let appCheck: SigningKeys?

    /// - Parameters:
    ///   - signing: signs users' tokens; nil if this host signs none.
    ///   - appCheck: signs App Check tokens; nil if no app is configured.
    package init(_ store: ServiceAccountStore, signing: SigningKeys?, appCheck: SigningKeys?) {
        self.store = store
        self.signing = signing
        self.appCheck = appCheck
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
        routes.answer("keys/rotate") { [signing, appCheck] parameters in
            let isAppCheck = parameters.has("appCheck")
            guard let keys = isAppCheck ? appCheck : signing else {
                throw DocumentError(.failedPrecondition, isAppCheck ? KeyAccess.hasNoApps : KeyAccess.signsNothing)
            }
            return try Self.perform {
                SigningKeyReport(try keys.rotate(early: parameters.has("early")))
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
