package import DocumentModel
import Synchronization

/// The observations of all invocations, by their owners.
package final class Observations: Sendable {
    /// Of one owner.
    private static let limit = 100

    private struct State {
        var byOwner: [UInt64: [UInt64: Observation]] = [:]
        var last: UInt64 = 0
    }

    private let total: Int
    private let state = Mutex(State())

    /// - Parameter total: how many all owners may have.
    package init(total: Int = .max) { self.total = total }

    package func add(_ observation: Observation, of owner: UInt64?) throws(DocumentError) -> UInt64 {
        let owner = owner ?? 0
        return try state.withLock { state throws(DocumentError) -> UInt64 in
            guard state.byOwner.values.reduce(0, { $0 + $1.count }) < total else {
                throw DocumentError(
                    .resourceExhausted, "all functions together have \(total) observations, the limit")
            }
            guard state.byOwner[owner]?.count ?? 0 < Self.limit else {
                throw DocumentError(.resourceExhausted, "an invocation may have \(Self.limit) observations, the limit")
            }
            state.last += 1
            state.byOwner[owner, default: [:]][state.last] = observation
            return state.last
        }
    }

    /// Whether an owner has any.
    package func has(of owner: UInt64?) -> Bool { state.withLock { $0.byOwner[owner ?? 0] != nil } }

    /// Answers with the next changes of an observation.
    package func next(_ id: UInt64, of owner: UInt64?, _ completion: @escaping Observation.Completion) {
        guard let observation = state.withLock({ $0.byOwner[owner ?? 0]?[id] }) else {
            return completion(.failure(DocumentError(.failedPrecondition, "the observation has ended")))
        }
        observation.next(completion)
    }

    /// Ends an observation, if there is one.
    package func end(_ id: UInt64, of owner: UInt64?) {
        let owner = owner ?? 0
        let observation = state.withLock { state -> Observation? in
            defer { if state.byOwner[owner]?.isEmpty == true { state.byOwner[owner] = nil } }
            return state.byOwner[owner]?.removeValue(forKey: id)
        }
        observation?.end()
    }

    package func endAll(of owner: UInt64) {
        let ended = state.withLock { $0.byOwner.removeValue(forKey: owner) } ?? [:]
        for observation in ended.values { observation.end() }
    }
}
