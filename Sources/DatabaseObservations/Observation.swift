package import DocumentModel
package import Sharing
import Synchronization
package import WorkerProtocol

/// What a function observes: changes wait here until the function asks for them.
package final class Observation: Sendable {
    /// What may wait for one observation. A function that is slower loses it, and begins another one.
    private static let maxBytes = 16 * 1024 * 1024

    package typealias Completion = @Sendable (Result<DatabaseAnswer, DocumentError>) -> Void

    private struct State {
        var cancel: (@Sendable () -> Void)?
        var waiting: [ReferenceChange.Setting] = []
        var waitingBytes = 0
        /// What is held of the budget, by what waits among it.
        var bytes = 0
        var next: Completion?
        /// Why it has ended.
        var failure: DocumentError?
    }

    private let budget: MemoryBudget
    private let holder: MemoryBudget.Holder
    private let state = Mutex(State())

    private static let hasEnded = DocumentError(.cancelled, "the observation has ended")
    private static let isSlow = DocumentError(
        .resourceExhausted,
        "what is observed is too large, or the function is too slow for it: 16 MiB may wait for one observation, and less "
            + "if much waits for others")

    package init(_ budget: MemoryBudget, of owner: UInt64) {
        self.budget = budget
        holder = .user(owner)
    }

    deinit { budget.release(state.withLock { $0.bytes }, of: holder) }

    /// - Parameter cancel: ends what sends the changes; called at once if the observation has ended already.
    package func begin(cancel: @escaping @Sendable () -> Void) {
        let hasEnded = state.withLock { state in
            state.cancel = state.failure == nil ? cancel : nil
            return state.failure != nil
        }
        if hasEnded { cancel() }
    }

    /// Holds bytes for what will wait.
    package func hold(_ bytes: Int) throws(DocumentError) {
        let isHeld = state.withLock { state in
            guard state.failure == nil, state.bytes + bytes <= Self.maxBytes, budget.take(bytes, for: holder) else {
                return false
            }
            state.bytes += bytes
            return true
        }
        guard isHeld else { throw Self.isSlow }
    }

    /// - Parameter held: how many bytes are held already, which these take the place of.
    package func receive(_ settings: [ReferenceChange.Setting], holding held: Int = 0) {
        let bytes = settings.reduce(0) { $0 + $1.target.utf8.count + ($1.value?.count ?? 0) }
        do throws(DocumentError) {
            if bytes > held { try hold(bytes - held) }
        } catch {
            return fail(error)
        }
        let next = state.withLock { state -> Completion? in
            guard state.failure == nil else { return nil }
            if bytes < held {
                state.bytes -= held - bytes
                budget.release(held - bytes, of: holder)
            }
            state.waiting += settings
            state.waitingBytes += bytes
            guard !state.waiting.isEmpty else { return nil }
            defer { state.next = nil }
            return state.next
        }
        if let next { self.next(next) }
    }

    package func next(_ completion: @escaping Completion) {
        let answer = state.withLock { state -> Result<DatabaseAnswer, DocumentError>? in
            if !state.waiting.isEmpty {
                defer {
                    budget.release(state.waitingBytes, of: holder)
                    state.bytes -= state.waitingBytes
                    (state.waiting, state.waitingBytes) = ([], 0)
                }
                return .success(.changes(state.waiting))
            }
            if let failure = state.failure { return .failure(failure) }
            guard state.next == nil else {
                return .failure(DocumentError(.failedPrecondition, "another task waits for the observation already"))
            }
            state.next = completion
            return nil
        }
        if let answer { completion(answer) }
    }

    package func fail(_ error: DocumentError) {
        let (next, cancel) = state.withLock { state in
            defer {
                state.failure = state.failure ?? error
                (state.next, state.cancel) = (nil, nil)
                budget.release(state.bytes, of: holder)
                (state.waiting, state.waitingBytes, state.bytes) = ([], 0, 0)
            }
            return (state.next, state.cancel)
        }
        cancel?()
        next?(.failure(error))
    }

    package func end() { fail(Self.hasEnded) }
}
