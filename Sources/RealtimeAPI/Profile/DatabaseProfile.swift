import Synchronization

/// What clients do on one database, for admins who watch: `GET /.settings/profile.json`. Without one it costs next to
/// nothing.
package final class DatabaseProfile: Sendable {
    private let watchers = Mutex<[ObjectIdentifier: ProfileStream]>([:])
    private let watched = Atomic(false)
    static let maxWatchers = 16

    package init() {}

    /// Whether operations are to be recorded.
    var isWatched: Bool { watched.load(ordering: .relaxed) }

    /// - Returns: false if there are too many.
    func add(_ watcher: ProfileStream) -> Bool {
        watchers.withLock { watchers in
            guard watchers.count < Self.maxWatchers else { return false }
            watchers[ObjectIdentifier(watcher)] = watcher
            watched.store(true, ordering: .relaxed)
            return true
        }
    }

    func remove(_ watcher: ProfileStream) {
        watchers.withLock { watchers in
            watchers[ObjectIdentifier(watcher)] = nil
            watched.store(!watchers.isEmpty, ordering: .relaxed)
        }
    }

    /// - Parameter now: milliseconds since 1970.
    func record(_ operation: @autoclosure () -> ProfiledOperation, at now: Int64) {
        guard isWatched else { return }
        let json = operation().json(at: now)
        for watcher in watchers.withLock({ Array($0.values) }) { watcher.receive(json) }
    }
}
