import Foundation
import Synchronization

/// Long work that blocks, on a thread of its own, for callers that must not.
package enum BlockingWork {
    /// Whether whoever asked for the work has gone. Asked between two steps.
    package final class Cancellation: Sendable {
        private let flag = Atomic(false)

        package init() {}

        package func cancel() { flag.store(true, ordering: .relaxed) }

        /// - Throws: `CancellationError` once nobody wants the work any more.
        package func check() throws { if flag.load(ordering: .relaxed) { throw CancellationError() } }
    }

    /// Runs the body, and tells it when the calling task is cancelled.
    package static func run<Result: Sendable>(
        _ name: String, _ body: @escaping @Sendable (Cancellation) throws -> Result
    ) async throws -> Result {
        let cancellation = Cancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let thread = Thread {
                    continuation.resume(with: Swift.Result { try body(cancellation) })
                }
                thread.name = name
                // Values nest deep while they are decoded.
                thread.stackSize = 2 << 20
                thread.start()
            }
        } onCancel: {
            cancellation.cancel()
        }
    }
}
