import Synchronization

/// Calls a completion once several things are done.
final class Countdown: Sendable {
    private let left: Atomic<Int>
    private let completion: @Sendable () -> Void

    /// - Parameter count: with 0, the completion is called at once.
    init(_ count: Int, _ completion: @escaping @Sendable () -> Void) {
        left = Atomic(count)
        self.completion = completion
        if count == 0 { completion() }
    }

    func countDown() {
        if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { completion() }
    }
}
