package import Sharing
import Synchronization

/// The memory that one operation's responses hold, out of a bound that all operations share.
///
/// Most responses are small, so that each operation acquires memory for a small one before it begins. A response that
/// grows beyond that reserves more while more is available. If none is, its transfer is given up and repeated once the
/// largest response fits, so that half-read responses never wait for each other.
package final class ResponseBudget: Sendable {
    /// The budget of the current operation.
    @TaskLocal package static var current: ResponseBudget?

    /// Bytes of all responses: a container may have 512 MiB, and a parsed response needs several times its text.
    package static let total = 32 * 1024 * 1024
    /// Bytes that a small response may have: 128 operations side by side.
    package static let step = 256 * 1024

    private let memory: AsyncSemaphore
    private let held = Mutex(0)

    package init(of memory: AsyncSemaphore) { self.memory = memory }

    /// Waits until a response of this size fits. What was held before is released.
    ///
    /// - Throws: if the task is cancelled. Nothing is held then.
    package func acquire(_ bytes: Int) async throws(CancellationError) {
        release()
        try await memory.acquire(bytes)
        held.withLock { $0 = bytes }
    }

    /// Reserves memory for a response that has grown to this size.
    ///
    /// - Parameter mayOvercommit: also reserves memory that isn't available, for a response that can't be repeated.
    /// - Returns: whether the response may grow.
    package func grow(to bytes: Int, mayOvercommit: Bool) -> Bool {
        held.withLock { held in
            guard bytes > held else { return true }
            let more = (bytes - held + Self.step - 1) / Self.step * Self.step
            if !memory.tryAcquire(more) {
                guard mayOvercommit else { return false }
                memory.acquireOvercommitting(more)
            }
            held += more
            return true
        }
    }

    /// Releases all memory, once the response has been passed on.
    package func release() {
        let bytes = held.withLock { held in
            defer { held = 0 }
            return held
        }
        if bytes > 0 { memory.release(bytes) }
    }
}
