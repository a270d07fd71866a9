package import CommitPipeline
package import DocumentModel
package import RealtimeModel
import Synchronization

extension RealtimeStore {
    /// Registers a write for when a client disconnects. It is durable once the completion is called.
    ///
    /// The caller has checked it; it is checked again when it happens.
    package func register(
        _ disconnect: RealtimeDisconnect, of session: String, in namespace: String,
        sequence: RealtimeWriteSequence? = nil,
        completion: @escaping @Sendable (Result<Void, RealtimeFailure>) -> Void
    ) {
        let configuration = configuration
        inTurn(of: sequence) { [self] _ in
            change { _, storage in
                var editor = try DisconnectEditor(session, in: namespace, on: storage)
                if let failure = try editor.add(disconnect, configuration) { return failure }
                try editor.finish()
                return nil
            } completion: { (result: Result<RealtimeFailure?, RealtimeFailure>) in
                completion(result.flatMap { refusal in refusal.map { .failure($0) } ?? .success(()) })
            }
        }
    }

    /// Forgets what a client has registered for a path and all below it. Its registrations before have been answered.
    ///
    /// What is left of those above the path is read from their text beside the writer, since that takes as long as they
    /// are large.
    ///
    /// - Parameters:
    ///   - caller: whose turn that waits for.
    ///   - attempts: how often it is tried while registrations are performed meanwhile.
    package func cancelDisconnects(
        at path: RealtimePath, of session: String, in namespace: String, caller: ReadCaller? = nil, attempts: Int = 3,
        completion: @escaping @Sendable (Result<Void, RealtimeFailure>) -> Void
    ) {
        let configuration = configuration
        read(in: namespace, of: caller, isAnsweredAtOnce: { true }) { state in
            try DisconnectRows(storage: state.rows.storage)
                .remainders(without: path, of: session, in: namespace, configuration)
        } completion: { [self] result in
            switch result {
            case .failure(let failure): completion(.failure(failure))
            case .success(let rests):
                change({ _, storage in
                    var editor = try DisconnectEditor(session, in: namespace, on: storage)
                    let removed = try editor.remove(at: path, rests, configuration)
                    if case .success(true) = removed { try editor.finish() }
                    return removed
                }) { [self] (result: Result<Result<Bool, RealtimeFailure>, RealtimeFailure>) in
                    let result = result.flatMap { $0 }
                    // Some were performed meanwhile.
                    guard case .success(false) = result else { return completion(result.map { _ in }) }
                    guard attempts > 1 else {
                        return completion(.failure(RealtimeFailure(.unavailable, "registrations are being performed")))
                    }
                    cancelDisconnects(
                        at: path, of: session, in: namespace, caller: caller, attempts: attempts - 1,
                        completion: completion)
                }
            }
        }
    }

    /// The sessions with registrations: after a start, those that were connected before.
    ///
    /// - Parameter damaged: called if some can't be read.
    package func disconnectSessions(
        damaged: (RealtimeFailure) -> Void = { _ in }
    ) async throws(RealtimeFailure) -> [RealtimeDisconnectSession] {
        let (sessions, damage) = try await change { _, storage in try DisconnectRows(storage: storage).sessions() }
        if let damage { damaged(damage) }
        return sessions
    }

    /// Writes what a session has registered, each registration in a commit of its own that also removes it, in their
    /// order. However often this is called, and whenever the host is killed, each is written once.
    ///
    /// - Parameters:
    ///   - sequence: the connection's, if it had one: what it has sent before comes first.
    ///   - triggerLimits: what the events of each may be.
    ///   - caller: whose turn the checks of large ones wait for.
    ///   - context: makes the context of a registration's commit.
    ///   - check: makes the check of a registration's write; nil for an admin's. What is refused is removed too.
    ///   - checkGeneration: that of the checks, see ``RealtimeCommit/checkGeneration``.
    ///   - completion: receives, for each registration, the failure if it wasn't written. One that failed as
    ///     unavailable is still registered.
    package func runDisconnects(
        of session: String, in namespace: String, sequence: RealtimeWriteSequence? = nil,
        triggerLimits: TriggerLimits = .strict, caller: ReadCaller? = nil,
        context: @escaping @Sendable (RealtimeDisconnect) -> OperationContext = { _ in OperationContext() },
        check: @escaping @Sendable (RealtimeDisconnect) -> RealtimeCheck?,
        checkGeneration: @escaping @Sendable () -> UInt64 = { 0 },
        completion: @escaping @Sendable (Result<[RealtimeFailure?], RealtimeFailure>) -> Void
    ) {
        inTurn(of: sequence) { [self] turn in
            registrations(of: session, in: namespace, turn) { [self] result in
                switch result {
                case .failure(let failure): completion(.failure(failure))
                case .success(let registrations):
                    DisconnectRun(
                        self, registrations, triggerLimits, caller, context: context, check: check,
                        checkGeneration: checkGeneration, completion: completion
                    ).next()
                }
            }
        }
    }

    /// Reads what a session has registered, on the writer's thread: behind registrations and writes that were submitted
    /// before.
    private func registrations(
        of session: String, in namespace: String, _ turn: RealtimeWriteTurn?,
        _ completion: @escaping @Sendable (Result<[DisconnectRun.Registration], RealtimeFailure>) -> Void
    ) {
        change { _, storage -> [DisconnectRun.Registration]? in
            // Writes that are decided again come first.
            if let turn, !turn.hasCome { return nil }
            return try DisconnectRows(storage: storage).all(of: session, in: namespace)
                .map { DisconnectRun.Registration(key: $0.key, disconnect: $0.row) }
        } completion: { [self] result in
            switch result {
            case .success(nil):
                @Sendable func again() { registrations(of: session, in: namespace, turn, completion) }
                if turn?.wait(again) != true { again() }
            case .success(let registrations?):
                turn?.finish()
                completion(.success(registrations))
            case .failure(let failure):
                turn?.finish()
                completion(.failure(failure))
            }
        }
    }

    /// Runs a step when it is its turn in a sequence.
    private func inTurn(of sequence: RealtimeWriteSequence?, _ step: @escaping @Sendable (RealtimeWriteTurn?) -> Void) {
        guard let sequence else { return step(nil) }
        let turn = RealtimeWriteTurn(in: sequence)
        turn.submit { step(turn) }
    }
}

/// Writes registrations one after the other.
private final class DisconnectRun: Sendable {
    struct Registration: Sendable {
        var key: DisconnectKey
        var disconnect: RealtimeDisconnect
    }

    private let store: RealtimeStore
    private let registrations: [Registration]
    private let triggerLimits: TriggerLimits
    private let caller: ReadCaller?
    private let context: @Sendable (RealtimeDisconnect) -> OperationContext
    private let check: @Sendable (RealtimeDisconnect) -> RealtimeCheck?
    private let checkGeneration: @Sendable () -> UInt64
    private let completion: @Sendable (Result<[RealtimeFailure?], RealtimeFailure>) -> Void
    /// The failures of those that were tried.
    private let done = Mutex<[RealtimeFailure?]>([])

    init(
        _ store: RealtimeStore, _ registrations: [Registration], _ triggerLimits: TriggerLimits,
        _ caller: ReadCaller?, context: @escaping @Sendable (RealtimeDisconnect) -> OperationContext,
        check: @escaping @Sendable (RealtimeDisconnect) -> RealtimeCheck?,
        checkGeneration: @escaping @Sendable () -> UInt64,
        completion: @escaping @Sendable (Result<[RealtimeFailure?], RealtimeFailure>) -> Void
    ) {
        self.store = store
        self.registrations = registrations
        self.triggerLimits = triggerLimits
        self.caller = caller
        self.context = context
        self.check = check
        self.checkGeneration = checkGeneration
        self.completion = completion
    }

    func next() {
        let count = done.withLock { $0.count }
        guard count < registrations.count else { return completion(.success(done.withLock { $0 })) }
        let registration = registrations[count]
        let disconnect = registration.disconnect
        var request = RealtimeCommit([], in: registration.key.namespace)
        request.registration = registration.key
        request.checkGeneration = checkGeneration
        request.triggerLimits = triggerLimits
        var invalid: RealtimeFailure?
        do throws(RealtimeError) {
            request.writes = [try disconnect.write()]
            request.check = check(disconnect)
        } catch {
            // It can never be written, and is removed.
            invalid = RealtimeFailure(from: error)
        }
        store.commit(request, in: context(disconnect), of: caller) { [self, invalid] result in
            switch result {
            case .success: note(invalid)
            case .failure(let failure) where failure.code == .unavailable:
                // Later ones mustn't come before it.
                done.withLock { done in
                    while done.count < registrations.count { done.append(failure) }
                }
            case .failure(let failure): note(failure)
            }
            next()
        }
    }

    private func note(_ failure: RealtimeFailure?) { done.withLock { $0.append(failure) } }
}
