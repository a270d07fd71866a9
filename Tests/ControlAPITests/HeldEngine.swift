import StorageEngine
import DocumentStore
import Foundation

/// An engine whose writer a test can block, so that index builds take as long as the test wants.
///
/// `@unchecked Sendable`: `condition` protects `isHeld`.
final class HeldEngine: StorageEngine, @unchecked Sendable {
    private let engine = MemoryEngine()
    private let condition = NSCondition()
    private var isHeld = false
    private let stopped = AsyncStream.makeStream(of: Void.self)

    func hold() { set(true) }

    func release() {
        set(false)
        stopped.continuation.finish()
    }

    /// Waits until the writer is blocked.
    /// - Returns: false if it was released before.
    func isStopped() async -> Bool {
        var stops = stopped.stream.makeAsyncIterator()
        return await stops.next() != nil
    }

    private func set(_ isHeld: Bool) {
        condition.lock()
        self.isHeld = isHeld
        condition.broadcast()
        condition.unlock()
    }

    func makeReadSession() throws -> any ReadSession { try engine.makeReadSession() }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        condition.lock()
        if isHeld { stopped.continuation.yield() }
        while isHeld { condition.wait() }
        condition.unlock()
        return try engine.write(body)
    }

    func close() throws { try engine.close() }
}
