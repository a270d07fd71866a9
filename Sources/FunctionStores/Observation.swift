import DocumentModel
import RealtimeStore
import Synchronization
import WorkerProtocol

/// What a function observes: changes wait here until the function asks for them.
final class Observation: Sendable {
    /// What may wait. A function that is slower loses the observation, and begins another one.
    static let maxBytes = 16 * 1024 * 1024

    typealias Completion = @Sendable (Result<DatabaseAnswer, DocumentError>) -> Void

    private struct State {
        var listener: RealtimeListener?
        var waiting: [ReferenceChange.Setting] = []
        var bytes = 0
        var next: Completion?
        /// Why it has ended.
        var failure: DocumentError?
    }

    private let state = Mutex(State())

    private static let hasEnded = DocumentError(.cancelled, "the observation has ended")
    private static let isSlow = DocumentError(
        .resourceExhausted, "the function is too slow for what it observes: more than 16 MiB of changes wait")

    init() {}

    func begin(_ listener: RealtimeListener) {
        let hasEnded = state.withLock { state in
            state.listener = listener
            return state.failure != nil
        }
        if hasEnded { listener.cancel() }
    }

    func receive(_ settings: [ReferenceChange.Setting]) {
        let bytes = settings.reduce(0) { $0 + $1.target.utf8.count + ($1.value?.count ?? 0) }
        let next = state.withLock { state -> Completion? in
            guard state.failure == nil else { return nil }
            if let next = state.next {
                state.next = nil
                return next
            }
            state.waiting += settings
            state.bytes += bytes
            return nil
        }
        if let next { return next(.success(.changes(settings))) }
        if state.withLock({ $0.bytes > Self.maxBytes }) { fail(Self.isSlow) }
    }

    func next(_ completion: @escaping Completion) {
        let answer = state.withLock { state -> Result<DatabaseAnswer, DocumentError>? in
            if !state.waiting.isEmpty {
                defer { (state.waiting, state.bytes) = ([], 0) }
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

    func fail(_ error: DocumentError) {
        let (next, listener) = state.withLock { state in
            defer {
                state.failure = state.failure ?? error
                state.next = nil
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
