import ControlProtocol
import FunctionManifest

/// The metadata of a release, stored beside its executable in `release.json`. It never changes.
struct ReleaseRecord: Codable, Equatable, Sendable {
    var format = 1
    var bundle: String
    /// The creation time and the first digits of the checksum: `20261121-201530-6f53034a`.
    var id: String
    /// SHA-256 of the release's files and their names, in hexadecimal.
    var checksum: String
    /// The size of the executable in bytes.
    var size: Int
    /// RFC 3339.
    var created: String
    /// The operating system's user who deployed it.
    var creator: String
    /// The path that the executable was copied from.
    var source: String
    var manifest: Manifest
}

/// The current releases and the history of deployments, stored in `index.json`.
struct ReleaseIndex: Codable, Equatable, Sendable {
    var format = 1
    /// The current release of each bundle, by its name.
    var current: [String: String] = [:]
    /// In order of time.
    var history: [ReleaseEvent] = []

    /// The number of events kept per bundle.
    static let maxHistory = 1000

    /// The releases of a bundle that were ever served, without duplicates, the most recent last.
    func served(of bundle: String) -> [String] {
        var ids: [String] = []
        for case let event in history where event.bundle == bundle {
            guard let id = event.release else { continue }
            ids.removeAll { $0 == id }
            ids.append(id)
        }
        return ids
    }

    mutating func note(_ event: ReleaseEvent) {
        current[event.bundle] = event.release
        history.append(event)
        if history.count(where: { $0.bundle == event.bundle }) > Self.maxHistory,
            let oldest = history.firstIndex(where: { $0.bundle == event.bundle })
        {
            history.remove(at: oldest)
        }
    }
}
