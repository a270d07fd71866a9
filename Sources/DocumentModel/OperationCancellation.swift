import Synchronization

/// Ends operations whose caller no longer waits for them.
package final class OperationCancellation: Sendable {
    private let flag = Atomic(false)

    package init() {}

    package var isCancelled: Bool { flag.load(ordering: .relaxed) }

    package func cancel() { flag.store(true, ordering: .relaxed) }
}

extension DocumentError {
    package static let callerLeft = DocumentError(.cancelled, "the caller no longer waits for the answer")
}
