import DocumentModel
import Synchronization

/// Bounds how many lines of one kind are logged: clients decide how often they are refused.
final class LineBudget: Sendable {
    private struct Minute {
        var number: Int64 = 0
        var lines = 0
        var leftOut = 0
    }

    private let linesPerMinute: Int
    private let minute = Mutex(Minute())

    init(linesPerMinute: Int) { self.linesPerMinute = linesPerMinute }

    /// Whether a line may be logged, and how many weren't in the minutes before.
    func admit(at time: Timestamp) -> (isAdmitted: Bool, leftOut: Int) {
        minute.withLock { minute in
            var leftOut = 0
            if minute.number != time.seconds / 60 {
                leftOut = minute.leftOut
                minute = Minute(number: time.seconds / 60)
            }
            minute.lines += 1
            guard minute.lines > linesPerMinute else { return (true, leftOut) }
            minute.leftOut += 1
            return (false, leftOut)
        }
    }
}
