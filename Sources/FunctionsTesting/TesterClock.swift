import DocumentModel
import DocumentStore
import Synchronization

/// A clock that goes on by a microsecond whenever it is looked at, and else as a test wants: however slow the machine is, a
/// pause is over when the test says so.
final class TesterClock: Sendable {
    private let microseconds: Mutex<Int64>

    init(startingAt start: Timestamp?) { microseconds = Mutex((start ?? Timestamp.now()).microseconds) }

    /// Later each time, so that nothing that was committed lies in the future.
    @Sendable func now() -> Timestamp {
        let time = microseconds.withLock { time in
            time += 1
            return time
        }
        return Timestamp(microseconds: time)
    }

    /// Moves it on to a time, unless it is later by now.
    func advance(to time: Timestamp) { microseconds.withLock { $0 = max($0, time.microseconds) } }
}
