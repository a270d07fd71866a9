import ControlProtocol
import DataDirectory
import Foundation
package import HostConfiguration
package import ServiceAccounts

/// Lists and changes the keys of servers: through the host that runs on the data directory, which takes changes over at
/// once, or in the directory itself if no host does.
package struct KeyAccess: Sendable {
    /// The name of the keys' directory in the data directory.
    package static let directory = "service-accounts"

    private let data: String

    package init(_ configuration: HostConfiguration) { data = configuration.data }

    /// - Throws: an error whose description is a sentence for the operator, as all of these.
    package func list() async throws -> [ServiceAccountKey] {
        try await perform(ControlRequest("keys", "list")) { $0.keys }
    }

    package func add(_ key: ServiceAccountKey) async throws {
        var request = ControlRequest("keys", "add")
        request.add("key", String(decoding: try JSONEncoder().encode(key), as: UTF8.self))
        _ = try await perform(request) { store in
            try store.add(key)
            return key
        }
    }

    /// - Parameter id: the key's id, or its beginning.
    package func revoke(_ id: String) async throws -> ServiceAccountKey {
        var request = ControlRequest("keys", "revoke")
        request.add("id", id)
        return try await perform(request) { try $0.revoke(id) }
    }

    private func perform<Answer: Decodable>(
        _ request: ControlRequest, offline: (ServiceAccountStore) throws -> Answer
    ) async throws -> Answer {
        do {
            return try await HostControl(data).ask(request, as: Answer.self)
        } catch is NoRunningHost {
            // Holds the lock, so that no host starts meanwhile and misses the change.
            let owned = try DataDirectory.open(data)
            defer { owned.close() }
            return try offline(try ServiceAccountStore(in: owned.file(Self.directory)))
        }
    }
}
