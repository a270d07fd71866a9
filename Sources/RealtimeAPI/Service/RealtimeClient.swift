import RealtimeStore
import Synchronization

/// One connection of a client, as the databases know it.
package final class RealtimeClient: Sendable {
    /// Unique in the process.
    let id: UInt64
    /// A number that stands for the client's address: those who haven't signed in take turns by it.
    let address: UInt64
    /// Whether it has a session, by WebSocket or long polling.
    let isSession: Bool
    /// Keeps the order of the connection's writes.
    let writes = RealtimeWriteSequence()

    /// Whether the answers to its writes must come behind changes that it listens to.
    private let listened = Atomic<Bool>(false)
    private let left = Atomic<Bool>(false)

    private static let lastID = Atomic<UInt64>(0)

    package init(address: UInt64, isSession: Bool = false) {
        id = Self.lastID.add(1, ordering: .relaxed).newValue
        self.address = address
        self.isSession = isSession
    }

    /// Whether it has ever listened.
    var hasListened: Bool { listened.load(ordering: .sequentiallyConsistent) }

    /// The client as one that retries.
    var retrying: RetryingClient { RetryingClient(.connection(id)) { [self] in left.load(ordering: .relaxed) } }

    /// Called when the connection ends.
    func leaves() { left.store(true, ordering: .relaxed) }

    /// Called before it listens.
    func listens() { listened.store(true, ordering: .sequentiallyConsistent) }
}
