import DocumentModel
import RealtimeModel
import Synchronization

/// Makes the keys of new children, as Firebase's SDKs do: they sort in the order in which they were made.
enum AutoID {
    private static let ids = Mutex(RealtimePushIDs())

    static func next(at now: Timestamp) -> String {
        ids.withLock { ids in
            var generator = SystemRandomNumberGenerator()
            return ids.next(now: now.microseconds / 1_000, using: &generator).string
        }
    }
}
