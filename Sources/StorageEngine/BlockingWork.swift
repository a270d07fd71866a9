import Sharing
import Synchronization

/// Runs long, blocking work on a thread of its own, for callers that must not block.
package enum BlockingWork {
    /// Whether the work has been cancelled. The work checks it between two steps; a long step is interrupted.
    package final class Cancellation: Sendable {
        private let flag = Atomic(false)
        /// Interrupts the step that is in progress.
        private let interrupt = Mutex<(@Sendable () -> Void)?>(nil)
        /// Ends the wait that is in progress. Called without the lock, because it resumes a task.
        private let giveUp = Mutex<(@Sendable () -> Void)?>(nil)

        package init() {}

        package func cancel() {
            flag.store(true, ordering: .sequentiallyConsistent)
            interrupt.withLock { $0?() }
            giveUp.withLock { $0 }?()
        }

        /// - Throws: `CancellationError` once the work has been cancelled.
        package func check() throws { if isCancelled { throw CancellationError() } }

        package var isCancelled: Bool { flag.load(ordering: .sequentiallyConsistent) }

        /// Runs a step that doesn't check for cancellation itself.
        ///
        /// - Parameter interrupt: makes the step fail soon; never called once the step is over.
        /// - Throws: `CancellationError` if the step failed after the work was cancelled, else the step's error.
        package func step<Result>(interrupt: @escaping @Sendable () -> Void, _ body: () throws -> Result) throws
            -> Result
        {
            self.interrupt.withLock { $0 = interrupt }
            defer { self.interrupt.withLock { $0 = nil } }
            try check()
            do { return try body() } catch {
                try check()
                throw error
            }
        }

        /// Waits for work that is done elsewhere. A cancellation ends the wait, but not that work. One wait at a time.
        ///
        /// - Parameter begin: starts the work; it passes the outcome to the closure that it receives, at most once.
        /// - Throws: `CancellationError` once the work or the calling task has been cancelled.
        package func wait<Outcome: Sendable>(
            for begin: (_ done: @escaping @Sendable (Outcome) -> Void) -> Void
        ) async throws -> Outcome {
            let waiter = Mutex<CheckedContinuation<Outcome, any Error>?>(nil)
            // The first of the two resumes the task: the outcome or the cancellation.
            @Sendable func resume(_ result: Swift.Result<Outcome, any Error>) {
                waiter.withLock { $0.take() }?.resume(with: result)
            }
            return try await withTaskCancellationHandler {
                try check()
                defer { giveUp.withLock { $0 = nil } }
                return try await withCheckedThrowingContinuation { continuation in
                    waiter.withLock { $0 = continuation }
                    giveUp.withLock { $0 = { resume(.failure(CancellationError())) } }
                    // The cancellation may have come before there was a continuation to resume.
                    if isCancelled { return resume(.failure(CancellationError())) }
                    begin { resume(.success($0)) }
                }
            } onCancel: {
                cancel()
            }
        }
    }

    /// In bytes. Decoding nested values needs a deep stack.
    package static let stackSize = 2 << 20

    /// Runs the body on a new thread, and cancels it when the calling task is cancelled.
    ///
    /// - Throws: `StorageError` if the system refuses the thread, or the body's error.
    package static func run<Result: Sendable>(
        _ name: String, until cancellation: Cancellation = Cancellation(), stackSize: Int = BlockingWork.stackSize,
        _ body: @escaping @Sendable (Cancellation) throws -> Result
    ) async throws -> Result {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                do throws(SystemThread.Refused) {
                    try SystemThread.start(name, stackSize: stackSize) {
                        continuation.resume(with: Swift.Result { try body(cancellation) })
                    }
                } catch {
                    continuation.resume(throwing: StorageError(.unavailable, error.description))
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }
}
