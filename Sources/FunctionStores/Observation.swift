import DocumentModel
import RealtimeStore
import Sharing
import Synchronization
import WorkerProtocol

/// What a function observes: changes wait here until the function asks for them.
final class Observation: Sendable {
    /// What may wait for one observation. A function that is slower loses it, and begins another one.
    private static let maxBytes = 16 * 1024 * 1024

    typealias Completion = @Sendable (Result<DatabaseAnswer, DocumentError>) -> Void

    private struct State {
        var listener: RealtimeListener?
        var waiting: [ReferenceChange.Setting] = []
        /// What is held of the budget.
        var bytes = 0
        var next: Completion?
        /// Why it has ended.
        var failure: DocumentError?
    }

    private let budget: MemoryBudget
    private let holder: MemoryBudget.Holder
    private let state = Mutex(State())

    private static let hasEnded = DocumentError(.cancelled, "the observation has ended")
    private static let isSlow = RealtimeFailure(
        .tooLarge,
        "what is observed is too large, or the function is too slow for it: 16 MiB may wait for one observation, and less "
            + "if much waits for others")

    init(_ budget: MemoryBudget, of owner: UInt64) {
        self.budget = budget
        holder = .user(owner)
    }

    deinit { budget.release(state.withLock { $0.bytes }, of: holder) }

    func begin(_ listener: RealtimeListener) {
        let hasEnded = state.withLock { state in
            state.listener = listener
            return state.failure != nil
        }
        if hasEnded { listener.cancel() }
    }

    /// Holds bytes for what will wait.
    func hold(_ bytes: Int) throws(RealtimeFailure) {
        let isHeld = state.withLock { state in
            guard state.failure == nil, state.bytes + bytes <= Self.maxBytes, budget.take(bytes, for: holder) else {
                return false
            }
            state.bytes += bytes
            return true
        }
        guard isHeld else { throw Self.isSlow }
    }

    /// - Parameter areHeld: whether their bytes are held already.
    func receive(_ settings: [ReferenceChange.Setting], areHeld: Bool = false) {
        let bytes = settings.reduce(0) { $0 + $1.target.utf8.count + ($1.value?.count ?? 0) }
        do throws(RealtimeFailure) {
            if !areHeld { try hold(bytes) }
        } catch {
            return fail(error.documentError)
        }
        let next = state.withLock { state -> Completion? in
            guard state.failure == nil else { return nil }
            state.waiting += settings
            defer { state.next = nil }
            return state.next
        }
        if let next { self.next(next) }
    }

    func next(_ completion: @escaping Completion) {
        let answer = state.withLock { state -> Result<DatabaseAnswer, DocumentError>? in
            if !state.waiting.isEmpty {
                defer { drop(&state) }
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

    private func drop(_ state: inout State) {
        budget.release(state.bytes, of: holder)
        (state.waiting, state.bytes) = ([], 0)
    }

    func fail(_ error: DocumentError) {
        let (next, listener) = state.withLock { state in
            defer {
                state.failure = state.failure ?? error
                state.next = nil
                drop(&state)
            }
            return (state.next, state.listener)
        }
        listener?.cancel()
        next?(.failure(error))
    }

    func end() { fail(Self.hasEnded) }
}

/// The observations of all invocations, by their owners.
struct Observations {
    /// Of one owner.
    private static let limit = 100

    private var byOwner: [UInt64: [UInt64: Observation]] = [:]
    private var last: UInt64 = 0

    mutating func add(_ observation: Observation, of owner: UInt64?) throws(DocumentError) -> UInt64 {
        let owner = owner ?? 0
        guard byOwner[owner]?.count ?? 0 < Self.limit else {
            throw DocumentError(.resourceExhausted, "an invocation may have \(Self.limit) observations, the limit")
        }
        last += 1
        byOwner[owner, default: [:]][last] = observation
        return last
    }

    subscript(id: UInt64, of owner: UInt64?) -> Observation? { byOwner[owner ?? 0]?[id] }

    mutating func remove(_ id: UInt64, of owner: UInt64?) -> Observation? {
        let owner = owner ?? 0
        defer { if byOwner[owner]?.isEmpty == true { byOwner[owner] = nil } }
        return byOwner[owner]?.removeValue(forKey: id)
    }

    mutating func removeAll(of owner: UInt64) -> [Observation] {
        byOwner.removeValue(forKey: owner).map { Array($0.values) } ?? []
    }
}
