import Sharing

/// Limits how many hosts the tests run at the same time, because more would only slow each other down. Waiting for a
/// slot counts towards a test's time limit, so these limits are generous.
enum HostSlots {
    private static let slots = AsyncSemaphore(5)

    static func take() async { await slots.acquireIgnoringCancellation() }

    static func release() { slots.release() }
}
