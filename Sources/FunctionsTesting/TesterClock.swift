import DocumentModel
import DocumentStore
import Synchronization

/// A clock that the test controls. It advances by a microsecond with each reading; a delay ends only when the test
/// advances the clock, regardless of the machine's speed.
final class TesterClock: Sendable {
    private let microseconds: Mutex<Int64>

    init(startingAt start: Timestamp?) { microseconds = Mutex((start ?? Timestamp.wallClock()).microseconds) }

    /// Increases with each reading, so that a commit is never in the future.
    @Sendable func now() -> Timestamp {
        let time = microseconds.withLock { time in
            time += 1
            return time
        }
        return Timestamp(microseconds: time)
    }

    /// Advances the clock to a time, unless it is already later.
    func advance(to time: Timestamp) { microseconds.withLock { $0 = max($0, time.microseconds) } }
}
