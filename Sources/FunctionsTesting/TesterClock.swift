import DocumentModel
import DocumentStore
import Synchronization

/// The machine's clock, set and moved on as a test wants.
final class TesterClock: Sendable {
    /// How far it is ahead, in microseconds.
    private let offset: Mutex<Int64>

    init(startingAt start: Timestamp?) {
        offset = Mutex(start.map { $0.microseconds - Timestamp.now().microseconds } ?? 0)
    }

    @Sendable func now() -> Timestamp {
        Timestamp(microseconds: Timestamp.now().microseconds + offset.withLock { $0 })
    }

    /// Moves it on to a time, unless it is later by now.
    func advance(to time: Timestamp) {
        offset.withLock { offset in
            offset = max(offset, time.microseconds - Timestamp.now().microseconds)
        }
    }
}
