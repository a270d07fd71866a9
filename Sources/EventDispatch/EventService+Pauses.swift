import CommitPipeline
package import DocumentModel
import DocumentStore
import EventDelivery
import Workers
import Logging
import Sharing
import Synchronization

/// A pause: why none of a function's invocations are started.
package struct FunctionPause: Hashable, Sendable {
    package enum Reason: String, Hashable, Sendable {
        /// The operator has paused it.
        case paused
        /// The operator has paused everything.
        case everythingPaused
        /// Its budget for the day is used up.
        case budgetUsedUp
    }

    package var function: String
    package var reason: Reason
    /// When the operator paused it.
    package var since: Timestamp?
}

extension EventService {
    /// Pauses a function, or all, until it is resumed, also across restarts of the host. Running invocations finish,
    /// events are kept, callers are refused.
    ///
    /// - Parameter function: nil for all.
    /// - Throws: `notFound` for a function that isn't served. If the pause can't be written, it applies until the host
    ///   ends, and the error says so.
    package func pause(_ function: String?) async throws(DocumentError) {
        if let function, functions[function] == nil { throw unknown(function) }
        try await inTurn { [self] in await pauseInTurn(function) }.get()
    }

    private func pauseInTurn(_ function: String?) async -> Result<Void, DocumentError> {
        let name = function ?? EventRecords.everything
        let now = parts.now()
        let since = state.withLock { state in
            if let since = state.pauses[name] { return since }
            state.pauses[name] = now
            return now
        }
        settle()
        do {
            try await store.outbox.keep([EventRecords.pause(of: name, since: since)])
        } catch {
            return .failure(
                DocumentError(
                    error.code, "it is paused until the host ends, but that can't be written: \(error.message)"))
        }
        parts.logger.notice("paused", metadata: ["function": "\(function ?? "all")"])
        return .success(())
    }

    /// Ends a function's pause, or the pause of all: functions that were paused by name stay paused. A function whose
    /// budget is used up runs for the rest of the day.
    ///
    /// - Parameter function: nil for all.
    /// - Throws: `notFound` for a function that is neither served nor paused; the store's error, and then nothing is
    ///   resumed.
    package func resume(_ function: String?) async throws(DocumentError) {
        try await inTurn { [self] in await resumeInTurn(function) }.get()
    }

    private func resumeInTurn(_ function: String?) async -> Result<Void, DocumentError> {
        let name = function ?? EventRecords.everything
        let isPaused = state.withLock { $0.pauses[name] != nil }
        if let function, functions[function] == nil, !isPaused { return .failure(unknown(function)) }
        do {
            if isPaused { try await store.outbox.keep([EventRecords.pause(of: name, since: nil)]) }
        } catch {
            return .failure(error)
        }
        state.withLock { $0.pauses[name] = nil }
        for (name, served) in functions where function.map({ $0 == name }) ?? true { served.gate.liftBudget() }
        settle()
        parts.logger.notice("resumed", metadata: ["function": "\(function ?? "all")"])
        return .success(())
    }

    private func inTurn(
        _ change: @escaping @Sendable () async -> Result<Void, DocumentError>
    ) async -> Result<Void, DocumentError> {
        await withCheckedContinuation { continuation in
            pauseTurns.run { continuation.resume(returning: await change()) }
        }
    }

    /// All pauses, by function.
    package var pausedFunctions: [FunctionPause] {
        let pauses = state.withLock { $0.pauses }
        var paused: [FunctionPause] = []
        for name in Set(functions.keys).union(pauses.keys) where name != EventRecords.everything {
            if let since = pauses[name] {
                paused.append(FunctionPause(function: name, reason: .paused, since: since))
            } else if let since = pauses[EventRecords.everything] {
                paused.append(FunctionPause(function: name, reason: .everythingPaused, since: since))
            } else if functions[name]?.gate.isBudgetUsedUp == true {
                paused.append(FunctionPause(function: name, reason: .budgetUsedUp))
            }
        }
        return paused.sorted { $0.function < $1.function }
    }

    /// The time since which everything is paused; nil if it isn't.
    package var pausedSince: Timestamp? { state.withLock { $0.pauses[EventRecords.everything] } }

    /// Applies the pauses to each gate and queue.
    private func settle() {
        for (name, function) in functions {
            // Under the lock: of two concurrent calls, the one that knows more comes last.
            state.withLock { function.gate.isPaused = EventRecords.isPaused(name, $0.pauses) }
            queues[name]?.settle()
        }
    }

    private func unknown(_ function: String) -> DocumentError {
        let known = functions.keys.sorted().joined(separator: ", ")
        return DocumentError(.notFound, "there is no function \(function); there are \(known)")
    }
}
