package import DocumentModel
import Synchronization

/// Clocks that stand still until they are moved.
package final class TestClock: Sendable {
    private let microseconds = Mutex<Int64>(1_700_000_000_000_000)
    private let passed = Mutex<Duration>(.zero)

    package init() {}

    @Sendable package func now() -> Timestamp { Timestamp(microseconds: microseconds.withLock { $0 }) }
    @Sendable package func elapsed() -> Duration { passed.withLock { $0 } }

    package func advance(seconds: Int64) {
        microseconds.withLock { $0 += seconds * 1_000_000 }
        passed.withLock { $0 += .seconds(seconds) }
    }
}
