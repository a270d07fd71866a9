import DocumentModel
import Sharing
import Synchronization

/// The messages that the client of a stream has sent and that aren't handled yet: it may send some without waiting.
final class WaitingMessages: Sendable {
    private struct State {
        var count = 0
        var bytes = 0
        var held: HeldMemory?
        var refusal: DocumentError?
    }

    private let what: String
    private let maxCount: Int
    private let maxBytes: Int
    private let identify: @Sendable () -> MemoryBudget.Holder?
    private let state: Mutex<State>

    /// - Parameters:
    ///   - what: what the messages are to the client, such as "writes".
    ///   - maxCount: how many may wait.
    ///   - maxBytes: the size of several that may wait. One may be larger.
    ///   - memory: what all clients' messages may take; nil for no bound.
    ///   - address: a number that stands for the address of the client.
    ///   - identify: verifies the client's token; nil if it has none that is valid.
    init(
        _ what: String, maxCount: Int, maxBytes: Int, memory: MemoryBudget? = nil, address: UInt64 = 0,
        identify: @escaping @Sendable () -> MemoryBudget.Holder? = { .host }
    ) {
        self.what = what
        self.maxCount = maxCount
        self.maxBytes = maxBytes
        self.identify = identify
        state = Mutex(State(held: memory.map { HeldMemory($0, address: address) }))
    }

    /// Those of a Write stream.
    convenience init(
        _ limits: ClientLimits.Write, memory: MemoryBudget? = nil, address: UInt64 = 0,
        identify: @escaping @Sendable () -> MemoryBudget.Holder? = { .host }
    ) {
        self.init(
            "writes", maxCount: limits.waiting, maxBytes: limits.waitingBytes, memory: memory, address: address,
            identify: identify)
    }

    deinit { state.withLock { $0.held?.release() } }

    /// Why the stream ends once what waits is done; nil if it goes on. Otherwise a client with more at once than may
    /// wait would send all of it again, and never get any further.
    var refusal: DocumentError? { state.withLock { $0.refusal } }

    func refuse(_ error: DocumentError) { state.withLock { $0.refusal = $0.refusal ?? error } }

    /// - Throws: `resourceExhausted` if too much waits.
    func add(_ size: Int) throws(DocumentError) {
        try state.withLock { state throws(DocumentError) in
            guard state.count < maxCount, state.count == 0 || state.bytes + size <= maxBytes else {
                throw DocumentError(
                    .resourceExhausted,
                    "more than \(maxCount) \(what) or \(maxBytes >> 10) KiB wait for their answers")
            }
            guard state.held?.take(size, identify: identify) ?? true else {
                throw DocumentError(.resourceExhausted, "too many \(what) wait, of this caller or of all")
            }
            state.count += 1
            state.bytes += size
        }
    }

    func remove(_ size: Int) {
        state.withLock { state in
            state.count -= 1
            state.bytes -= size
            _ = state.held?.adjust(to: state.bytes) { nil }
        }
    }
}
