package import RealtimeModel
import Synchronization

/// What a commit has changed for the listeners at a path; for a query, several commits if many are to be delivered.
///
/// All these listeners receive the same object, so that it can be encoded once.
package final class RealtimePush: Sendable {
    package enum Content: Sendable {
        /// A new state at a target.
        case put(RealtimeChange)
        /// New states at several targets, none of which contains another, in the order in which they are applied.
        case patch([RealtimeChange])
    }

    /// The path that is listened to.
    package let path: RealtimePath
    /// Targets count from the path.
    package let content: Content
    /// The version of the state that has the changes.
    package let version: Int64
    /// The approximate size in memory.
    let bytes: Int
    /// How many listeners receive it.
    package let listeners: Int
    private let seen = Atomic(false)

    init(at path: RealtimePath, _ changes: [RealtimeChange], version: Int64, bytes: Int = 0, to listeners: Int) {
        self.path = path
        content = changes.count == 1 ? .put(changes[0]) : .patch(changes)
        self.version = version
        self.bytes = bytes
        self.listeners = listeners
    }

    /// Whether it is asked for the first time. A listener that begins receives older pushes too.
    package func isFirstSeen() -> Bool { !seen.exchange(true, ordering: .relaxed) }

    package var changes: [RealtimeChange] {
        switch content {
        case .put(let change): [change]
        case .patch(let changes): changes
        }
    }
}

/// The changes of a commit, for listeners.
struct RealtimeCommitFeed: Sendable {
    var version: Int64
    var namespace: String
    var changes: [RealtimeAppliedChange]
    /// What the changed rows were before, by their paths in bytes; nil if that isn't known.
    var before: [(path: [UInt8], row: [UInt8]?)]?
    /// That of the namespaces at the commit.
    var generation: Int64
    /// The approximate size of its changes.
    var bytes: Int
}

/// How many changes, and how much, wait for the data that a listener begins with. If there is more, the data are read again.
enum WaitingChanges {
    static let maxCount = 1_000
    static let maxBytes = 1024 * 1024
}
