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

extension Countdown {
    /// How many decisions on listens are under way together: more would leave no place for the reads of others.
    static let listensTogether = 64

    /// Takes steps, a few of them together.
    ///
    /// - Parameters:
    ///   - step: takes a step by its index, and calls its completion.
    ///   - completion: called once all are done.
    static func run(
        _ count: Int, together: Int, _ step: @escaping @Sendable (Int, @escaping @Sendable () -> Void) -> Void,
        completion: @escaping @Sendable () -> Void
    ) {
        @Sendable func go(_ index: Int, _ completion: @escaping @Sendable () -> Void) {
            guard index < count else { return completion() }
            step(index) { go(index + together, completion) }
        }
        let chains = min(count, together)
        let countdown = Countdown(chains, completion)
        for first in 0..<chains { go(first) { countdown.countDown() } }
    }
}
