import CommitPipeline
import DocumentModel

/// The approximate size of all listeners' windows, in total and by client: a window stays in memory as long as its
/// listener, whether or not events are read.
struct WindowBytes {
    private struct Entry {
        var bytes: Int
        let client: UInt64?
    }

    private let limit: Int
    private let limitPerClient: Int
    private var entries: [UInt64: Entry] = [:]
    private(set) var total = 0
    private var byClient: [UInt64: Int] = [:]

    init(limit: Int, perClient limitPerClient: Int) {
        self.limit = limit
        self.limitPerClient = limitPerClient
    }

    /// Records the size of a listener's window.
    ///
    /// - Parameter client: nil for functions, for which only the total is limited.
    /// - Throws: if the size has grown and exceeds a limit, which the error has; the size recorded before stays. It is
    ///   `unavailable` if the windows of others leave too little, otherwise `resourceExhausted`.
    mutating func set(_ bytes: Int, of listener: UInt64, client: UInt64?) throws(DocumentError) {
        let growth = bytes - (entries[listener]?.bytes ?? 0)
        if growth > 0 {
            if let client, (byClient[client] ?? 0) + growth > limitPerClient {
                throw DocumentError(
                    .resourceExhausted,
                    "the limited results that a client listens to may hold \(limitPerClient / 1_048_576) MiB together, "
                        + "the limit; end a listener, or listen to fewer documents")
            }
            guard total + growth <= limit else {
                throw DocumentError(
                    bytes > limit ? .resourceExhausted : .unavailable,
                    "the limited results that are listened to may hold \(limit / 1_048_576) MiB together, the limit; "
                        + "retry later, or listen to fewer documents")
            }
        }
        entries[listener] = Entry(bytes: bytes, client: client)
        add(growth, client)
    }

    mutating func remove(_ listener: UInt64) {
        guard let entry = entries.removeValue(forKey: listener) else { return }
        add(-entry.bytes, entry.client)
    }

    private mutating func add(_ bytes: Int, _ client: UInt64?) {
        total += bytes
        guard let client else { return }
        let all = (byClient[client] ?? 0) + bytes
        byClient[client] = all == 0 ? nil : all
    }
}
