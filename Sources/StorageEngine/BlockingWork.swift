import Foundation
import Synchronization

/// Long work that blocks, on a thread of its own, for callers that must not.
package enum BlockingWork {
    /// Whether whoever asked for the work has gone. Asked between two steps; a long step is interrupted.
    package final class Cancellation: Sendable {
        private let flag = Atomic(false)
        /// How to interrupt the step that is under way.
        private let interrupt = Mutex<(@Sendable () -> Void)?>(nil)
        /// How to end the waiting that is under way. Called without the lock: it resumes a task.
        private let giveUp = Mutex<(@Sendable () -> Void)?>(nil)

        package init() {}

        package func cancel() {
            flag.store(true, ordering: .sequentiallyConsistent)
            interrupt.withLock { $0?() }
            giveUp.withLock { $0 }?()
        }

        /// - Throws: `CancellationError` once nobody wants the work any more.
        package func check() throws { if isCancelled { throw CancellationError() } }

        package var isCancelled: Bool { flag.load(ordering: .sequentiallyConsistent) }

        /// Does a step that doesn't ask by itself.
        ///
        /// - Parameter interrupt: makes the step fail soon; never called once the step is over.
        /// - Throws: `CancellationError` where the step failed and nobody wants the work any more, else what it throws.
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

        /// Waits for what is done elsewhere, and goes on there when nobody waits for it any more. One at a time.
        ///
        /// - Parameter begin: has it done; what it is given is called with what came of it, once at most.
        /// - Throws: `CancellationError` once nobody wants the work any more, or where the calling task is cancelled.
        package func wait<Outcome: Sendable>(
            for begin: (_ done: @escaping @Sendable (Outcome) -> Void) -> Void
        ) async throws -> Outcome {
            let waiter = Mutex<CheckedContinuation<Outcome, any Error>?>(nil)
            // Whoever comes first: the outcome, or the cancellation.
            @Sendable func resume(_ result: Swift.Result<Outcome, any Error>) {
                waiter.withLock { $0.take() }?.resume(with: result)
            }
            return try await withTaskCancellationHandler {
                try check()
                defer { giveUp.withLock { $0 = nil } }
                return try await withCheckedThrowingContinuation { continuation in
                    waiter.withLock { $0 = continuation }
                    giveUp.withLock { $0 = { resume(.failure(CancellationError())) } }
                    // It may have been cancelled before there was anybody to resume.
                    if isCancelled { return resume(.failure(CancellationError())) }
                    begin { resume(.success($0)) }
                }
            } onCancel: {
                cancel()
            }
        }
    }

    /// Runs the body, and tells it when the calling task is cancelled.
    package static func run<Result: Sendable>(
        _ name: String, until cancellation: Cancellation = Cancellation(),
        _ body: @escaping @Sendable (Cancellation) throws -> Result
    ) async throws -> Result {
        try await withTaskCancellationHandler {
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
