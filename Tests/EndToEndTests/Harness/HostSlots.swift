import Semaphore

/// How many hosts the tests run at a time: more would only make each other slow. The wait for one counts in a test's
/// time limit, which is generous for that reason.
enum HostSlots {
    private static let slots = AsyncSemaphore(5)

    static func take() async { await slots.acquireIgnoringCancellation() }

    static func giveBack() { slots.release() }
}
