import DocumentModel
import Synchronization

/// The approximate size of what all listeners listen to, in total and by client: queries stay in memory as long as
/// their listeners.
final class TargetMemory: Sendable {
    private struct State {
        var total = 0
        var byClient: [UInt64: Int] = [:]
    }

    private let limit: Int
    private let limitPerClient: Int
    private let state = Mutex(State())

    init(limit: Int, perClient limitPerClient: Int) {
        self.limit = limit
        self.limitPerClient = limitPerClient
    }

    /// The bytes that are held now.
    var total: Int { state.withLock { $0.total } }

    /// - Parameter client: nil for functions, for which only the total is limited.
    /// - Throws: with the limit if it would be exceeded: `resourceExhausted` for the client's, `unavailable` for that of
    ///   all.
    func hold(_ bytes: Int, client: UInt64?) throws(DocumentError) -> HeldTarget {
        try state.withLock { state throws(DocumentError) in
            if let client, (state.byClient[client] ?? 0) + bytes > limitPerClient {
                throw DocumentError(
                    .resourceExhausted,
                    "what a client listens to may take \(limitPerClient / 1_048_576) MiB together, the limit; end a "
                        + "listener, or listen to shorter queries")
            }
            guard state.total + bytes <= limit else {
                throw DocumentError(
                    .unavailable,
                    "what is listened to takes \(limit / 1_048_576) MiB together, the limit; retry later")
            }
            state.total += bytes
            if let client { state.byClient[client, default: 0] += bytes }
        }
        return HeldTarget(bytes, client: client, of: self)
    }

    fileprivate func release(_ bytes: Int, client: UInt64?) {
        state.withLock { state in
            state.total -= bytes
            guard let client else { return }
            let left = (state.byClient[client] ?? 0) - bytes
            state.byClient[client] = left > 0 ? left : nil
        }
    }
}

/// Counts a target until this is released. It may be in memory for some time after its listener has ended.
final class HeldTarget: Sendable {
    private let bytes: Int
    private let client: UInt64?
    private let memory: TargetMemory

    fileprivate init(_ bytes: Int, client: UInt64?, of memory: TargetMemory) {
        self.bytes = bytes
        self.client = client
        self.memory = memory
    }

    deinit { memory.release(bytes, client: client) }
}

extension ListenerTarget {
    /// About the bytes that it takes in memory, without the documents of a window.
    var heldBytes: Int {
        switch self {
        case .documents(let paths): paths.reduce(1024) { $0 + 256 + $1.string.utf8.count }
        case .query(let query): query.heldBytes
        case .window(let window): window.query.heldBytes
        }
    }
}
