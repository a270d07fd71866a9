import ControlProtocol
import DataDirectory
import Foundation
package import HostConfiguration
package import ServiceAccounts
import TokenVerification

/// Lists and changes the keys of servers: through the host that runs on the data directory, which takes changes over at
/// once, or in the directory itself if no host does.
package struct KeyAccess: Sendable {
    /// The name of the keys' directory in the data directory.
    package static let directory = "service-accounts"

    /// The name of the signing keys' directory in the data directory.
    package static let signingDirectory = "auth"
    /// The name of the directory of the keys for App Check tokens.
    package static let appCheckDirectory = "app-check"
    static let signsNothing = """
        this host signs no tokens: in production auth.issuer in functions.json must be own for that, in development \
        auth.signedTokens true
        """

    static let hasNoApps = "this host signs no App Check tokens: appCheck.apps in functions.json names no app"

    private let data: String
    private let signsTokens: Bool
    private let hasApps: Bool

    package init(_ configuration: HostConfiguration) {
        data = configuration.data
        signsTokens = configuration.signsTokens
        hasApps = !configuration.appCheck.apps.isEmpty
    }

    /// - Throws: an error whose description is a sentence for the operator, as all of these.
    package func list() async throws -> [ServiceAccountKey] {
        try await perform(ControlRequest("keys", "list"), inStore: { $0.keys })
    }

    package func add(_ key: ServiceAccountKey) async throws {
        var request = ControlRequest("keys", "add")
        request.add("key", String(decoding: try JSONEncoder().encode(key), as: UTF8.self))
        // Servers may get their keys before the host's first start.
        _ = try await perform(
            request, creating: true,
            inStore: { store in
                try store.add(key)
                return key
            })
    }

    /// - Parameter id: the key's id, or its beginning.
    package func revoke(_ id: String) async throws -> ServiceAccountKey {
        var request = ControlRequest("keys", "revoke")
        request.add("id", id)
        return try await perform(request, inStore: { try $0.revoke(id) })
    }

    /// Lets the next key sign tokens.
    ///
    /// - Parameters:
    ///   - appCheck: whether of apps; else of users.
    ///   - early: whether it may before everyone who verifies tokens knows it.
    package func rotate(appCheck: Bool = false, early: Bool) async throws -> SigningKeyReport {
        guard appCheck ? hasApps : signsTokens else {
            throw SigningKeyError(appCheck ? Self.hasNoApps : Self.signsNothing)
        }
        var request = ControlRequest("keys", "rotate")
        if appCheck { request.add("appCheck", "true") }
        if early { request.add("early", "true") }
        let files = appCheck ? Self.appCheckDirectory : Self.signingDirectory
        return try await perform(request) { directory in
            SigningKeyReport(try SigningKeys(in: directory.file(files)).rotate(early: early))
        }
    }

    private func perform<Answer: Decodable>(
        _ request: ControlRequest, creating: Bool = false, inStore offline: (ServiceAccountStore) throws -> Answer
    ) async throws -> Answer {
        try await perform(request, creating: creating) {
            try offline(ServiceAccountStore(in: $0.file(Self.directory)))
        }
    }

    /// - Parameter creating: whether to make a data directory if there is none.
    private func perform<Answer: Decodable>(
        _ request: ControlRequest, creating: Bool = false, offline: (DataDirectory) throws -> Answer
    ) async throws -> Answer {
        do {
            return try await HostControl(data).ask(request, as: Answer.self)
        } catch is NoRunningHost {
            // Holds the lock, so that no host starts meanwhile and misses the change.
            let owned = try creating ? DataDirectory.open(data) : DataDirectory.openExisting(data)
            defer { owned.close() }
            return try offline(owned)
        }
    }
}
