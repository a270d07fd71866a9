import CommitPipeline
package import DocumentModel
package import RealtimeModel

extension RealtimeStore {
    /// Registers a write for when a client disconnects. It is durable once the completion is called.
    ///
    /// The caller has checked it; it is checked again when it happens.
    package func register(
        _ disconnect: RealtimeDisconnect, of session: String, in namespace: String,
        sequence: RealtimeWriteSequence? = nil,
        completion: @escaping @Sendable (Result<Void, RealtimeFailure>) -> Void
    ) {
        let limit = configuration.maxDisconnects
        let now = pipeline.now
        inTurn(of: sequence) { [self] in
            change { _, storage in
                guard try DisconnectRows(storage: storage).count(of: session, in: namespace) < limit else {
                    return false
                }
                try storage.add(disconnect, of: session, in: namespace, at: now().microseconds)
                return true
            } completion: { result in
                completion(
                    result.flatMap { isAdded in
                        isAdded
                            ? .success(())
                            : .failure(
                                RealtimeFailure(.invalid, "a client may have \(limit) onDisconnect writes, the limit"))
                    })
            }
        }
    }

    /// Forgets what a client has registered for a path and all below it.
    package func cancelDisconnects(
        at path: RealtimePath, of session: String, in namespace: String, sequence: RealtimeWriteSequence? = nil,
        completion: @escaping @Sendable (Result<Void, RealtimeFailure>) -> Void
    ) {
        inTurn(of: sequence) { [self] in
            change(
                { _, storage in try storage.removeDisconnects(at: path, of: session, in: namespace) },
                completion: completion)
        }
    }

    /// The sessions with registrations: after a start, those that were connected before.
    package func disconnectSessions() async throws(RealtimeFailure) -> [RealtimeDisconnectSession] {
        try await change { _, storage in try DisconnectRows(storage: storage).sessions() }
    }

    /// Writes what a session has registered, each registration in a commit of its own that also removes it, in their
    /// order. However often this is called, and whenever the host is killed, each is written once.
    ///
    /// - Parameters:
    ///   - sequence: the connection's, if it had one: what it has sent before comes first.
    ///   - context: makes the context of a registration's commit.
    ///   - check: makes the check of a registration's write; nil for an admin's. What is refused is removed too.
    ///   - completion: receives, for each registration, the failure if it wasn't written. One that failed as
    ///     unavailable is still registered.
    package func runDisconnects(
        of session: String, in namespace: String, sequence: RealtimeWriteSequence? = nil,
        context: @escaping @Sendable (RealtimeDisconnect) -> OperationContext = { _ in OperationContext() },
        check: @escaping @Sendable (RealtimeDisconnect) -> RealtimeCheck?,
        completion: @escaping @Sendable (Result<[RealtimeFailure?], RealtimeFailure>) -> Void
    ) {
        inTurn(of: sequence) { [self] in
            // On the writer's thread, behind registrations that were submitted before.
            change { _, storage in
                try DisconnectRows(storage: storage).all(of: session, in: namespace)
                    .map { DisconnectRun.Registration(key: $0.key, disconnect: $0.row) }
            } completion: { [self] result in
                switch result {
                case .failure(let failure): completion(.failure(failure))
                case .success(let registrations):
                    DisconnectRun(self, registrations, context: context, check: check, completion: completion).next([])
                }
            }
        }
    }

    /// Runs a step when it is its turn in a sequence.
    func inTurn(of sequence: RealtimeWriteSequence?, _ step: @escaping @Sendable () -> Void) {
        guard let sequence else { return step() }
        sequence.submit(sequence.reserve(), step)
    }
}

/// Writes registrations one after the other.
private struct DisconnectRun: Sendable {
    struct Registration: Sendable {
        var key: DisconnectKey
        var disconnect: RealtimeDisconnect
    }

    private let store: RealtimeStore
    private let registrations: [Registration]
    private let context: @Sendable (RealtimeDisconnect) -> OperationContext
    private let check: @Sendable (RealtimeDisconnect) -> RealtimeCheck?
    private let completion: @Sendable (Result<[RealtimeFailure?], RealtimeFailure>) -> Void

    init(
        _ store: RealtimeStore, _ registrations: [Registration],
        context: @escaping @Sendable (RealtimeDisconnect) -> OperationContext,
        check: @escaping @Sendable (RealtimeDisconnect) -> RealtimeCheck?,
        completion: @escaping @Sendable (Result<[RealtimeFailure?], RealtimeFailure>) -> Void
    ) {
        self.store = store
        self.registrations = registrations
        self.context = context
        self.check = check
        self.completion = completion
    }

    /// - Parameter done: the failures of those before.
    func next(_ done: [RealtimeFailure?]) {
        guard done.count < registrations.count else { return completion(.success(done)) }
        let registration = registrations[done.count]
        let disconnect = registration.disconnect
        var request = RealtimeCommit([], in: registration.key.namespace)
        request.registration = registration.key
        var invalid: RealtimeFailure?
        do throws(RealtimeError) {
            request.writes = [try disconnect.write()]
            request.check = check(disconnect)
        } catch {
            // It can never be written, and is removed.
            invalid = RealtimeFailure(from: error)
        }
        store.commit(request, in: context(disconnect)) { [invalid] result in
            switch result {
            case .success: next(done + [invalid])
            case .failure(let failure) where failure.code == .unavailable:
                // Later ones mustn't come before it.
                let rest = registrations.count - done.count
                completion(.success(done + [RealtimeFailure?](repeating: failure, count: rest)))
            case .failure(let failure): next(done + [failure])
            }
        }
    }
}
