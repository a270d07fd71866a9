import ControlProtocol
import FunctionManifest
import HostConfiguration

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
    /// 2 once there are rules, which older hosts would take for a bundle.
    var format = 1
    static let newestFormat = 2

    /// The current release of each bundle, by its name, and that of the rules, by theirs.
    var current: [String: String] = [:]
    /// In order of time.
    var history: [ReleaseEvent] = []

    /// The number of events kept per bundle.
    static let maxHistory = 1000

    /// The bundles that have a current release.
    var bundles: [String] { current.keys.filter { $0 != HostConfiguration.rulesName }.sorted() }

    /// The releases of a bundle, or of the rules, that were ever served, without duplicates, the most recent last.
    func served(of bundle: String) -> [String] {
        var ids: [String] = []
        for case let id? in switches(of: bundle).map(\.release) {
            ids.removeAll { $0 == id }
            ids.append(id)
        }
        return ids
    }

    /// The changes of the release of a bundle, or of the rules.
    func switches(of name: String) -> [(action: ReleaseEvent.Action, release: String?)] {
        history.compactMap { event in
            if event.bundle == name { return (event.action, event.release) }
            guard name == HostConfiguration.rulesName, let rules = event.rules else { return nil }
            return (event.action, rules.release)
        }
    }

    mutating func note(_ event: ReleaseEvent) {
        current[event.bundle] = event.release
        if event.rules != nil || event.bundle == HostConfiguration.rulesName { format = Self.newestFormat }
        if let rules = event.rules { current[HostConfiguration.rulesName] = rules.release }
        history.append(event)
        if history.count(where: { $0.bundle == event.bundle }) > Self.maxHistory,
            let oldest = history.firstIndex(where: { $0.bundle == event.bundle })
        {
            history.remove(at: oldest)
        }
    }
}
