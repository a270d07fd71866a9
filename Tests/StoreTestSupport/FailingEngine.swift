package import StorageEngine
package import Synchronization

/// An engine whose batches can be made to fail at their end, as on a full disk.
package final class FailingEngine: StorageEngine {
    private let inner = MemoryEngine()
    package let fails = Mutex(false)
    package let batches = Atomic<Int>(0)

    package init() {}

    package func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

    package func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        batches.add(1, ordering: .relaxed)
        return try inner.write { writer in
            let result = try body(writer)
            if fails.withLock({ $0 }) { throw StorageError(.unavailable, "the disk is full") }
            return result
        }
    }

    package func close() throws {}
}
