import DocumentModel
@testable import EventDispatch
import TestSupport

extension ManualClock: EventTimer {
    /// - Parameter seconds: of the time of day at the start, in UTC.
    static func at(secondsOfDay seconds: Int64 = 0) -> ManualClock {
        ManualClock(at: Timestamp(seconds: 1_700_006_400 + seconds, nanoseconds: 0))
    }

    func schedule(afterSeconds seconds: Double, _ action: @escaping @Sendable () -> Void) {
        // What is due already comes without an advance.
        guard seconds > 0 else { return _ = Task { action() } }
        call(after: .microseconds(Int64(seconds * 1_000_000)), action)
    }
}
