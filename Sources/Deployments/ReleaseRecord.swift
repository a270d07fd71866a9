import ControlProtocol
import FunctionManifest

/// What is kept of a release beside its executable, in `release.json`. It never changes.
struct ReleaseRecord: Codable, Equatable, Sendable {
    var format = 1
    var bundle: String
    /// When it was made and what it is: `20261121-201530-6f53034a`.
    var id: String
    /// SHA-256 of its files with their names, in hexadecimal digits.
    var checksum: String
    /// Bytes of the executable.
    var size: Int
    /// RFC 3339.
    var created: String
    /// The system's user who deployed it.
    var creator: String
    /// Where the executable was taken from.
    var source: String
    var manifest: Manifest
}

/// Which releases are served, and how it came to that: `index.json`.
struct ReleaseIndex: Codable, Equatable, Sendable {
    var format = 1
    /// The release that is served, by bundle.
    var current: [String: String] = [:]
    /// The latest at the end.
    var history: [ReleaseEvent] = []

    /// Events of one bundle that are kept.
    static let maxHistory = 1000

    /// Those of a bundle that were ever served, the latest last, each once.
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
