import Synchronization

/// Whether a request's caller has left. A service looks at it between the steps of long work.
package final class RealtimeCancellation: Sendable {
    private let flag = Atomic(false)

    package init() {}

    package var isCancelled: Bool { flag.load(ordering: .relaxed) }

    package func cancel() { flag.store(true, ordering: .relaxed) }
}
