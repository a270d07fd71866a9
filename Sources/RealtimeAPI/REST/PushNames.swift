import RealtimeModel
import Synchronization

/// The names of new children, in the order of their requests over all loops.
final class PushNames: Sendable {
    private let names = Mutex(RealtimePushIDs())

    /// - Parameter now: milliseconds since 1970.
    func next(now: Int64) -> RealtimeKey {
        names.withLock { names in
            var generator = SystemRandomNumberGenerator()
            return names.next(now: now, using: &generator)
        }
    }
}
