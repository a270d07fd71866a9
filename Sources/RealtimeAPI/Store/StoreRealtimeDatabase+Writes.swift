import CommitPipeline
import DocumentModel
import RealtimeHashing
import RealtimeModel
import RealtimeStore
import SecurityRules
import Sharing
import StrictJSON
import Synchronization

/// Writes: of values that are committed at once, and of larger ones, which are staged before their commit.
extension StoreRealtimeDatabase {
    /// A value of more nodes is stored beside other commits, before its own.
    static let maxCommittedNodes = 20_000
    /// What a client may write at once with server values, or at several places.
    private static let maxUpdatedNodes = 100_000

    func write(
        _ write: RealtimeWrite, _ options: RealtimeWriteOptions, as principal: RealtimePrincipal,
        for client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<RealtimeWritten, RealtimeServiceError>) -> Void
    ) {
        let completion = profiled(ProfiledOperation(write, of: client), completion)
        let limit = options.sizeLimit ?? sizeLimit
        let maxRows = write.staged == nil ? limit.rows : limit.stagedRows
        if let maxRows, write.nodeCount > maxRows { return completion(.failure(.writeTooSlow)) }
        if let staged = write.staged {
            return self.write(write, staged, at: client.writes.reserve(), options, principal, client, completion)
        }
        if write.nodeCount > Self.maxCommittedNodes {
            if case .set(let target, let value, let hash) = write, !target.isPriority, value.serverValues.isEmpty {
                return stage(value, at: target.path, ifHash: hash, options, principal, client, completion)
            }
            // All of it is one step of the writer, which others wait for.
            let limit = principal.isAdmin ? RealtimeLimits.maxUpdateNodes : Self.maxUpdatedNodes
            guard write.nodeCount <= limit else { return completion(.failure(.updateTooLarge(nodes: limit))) }
        }
        var request = commit(write, as: principal)
        request.client = client.retrying
        request.maxRows = maxRows
        // Hashing takes as long as the value is large.
        let isSoonHashed = !options.wantsHash || write.setsShortLeaf
        request.isAnsweredAtOnce = { isSoonHashed && !client.hasListened }
        store.commit(
            request, in: context(of: principal, options), sequence: client.writes,
            of: writer(write, principal, client)
        ) { [self] result in
            switch result {
            case .failure(let failure): completion(.failure(RealtimeServiceError(failure, of: name)))
            case .success(let committed):
                var written = RealtimeWritten()
                if options.wantsChanges { written.changes = committed.written }
                guard options.wantsHash, case .set(let target, _, _) = write, !target.isPriority else {
                    return finish(write, written, principal, client, completion)
                }
                // That of this write, whatever has been written since.
                let (answer, node) = (written, committed.written.first?.node)
                @Sendable func finishWithHash() {
                    var answer = answer
                    answer.hash = node.exactHash
                    finish(write, answer, principal, client, completion)
                }
                if write.nodeCount > Self.maxShortNodes {
                    shared.values.add(of: caller(principal, client) ?? Self.admins) { finishWithHash() }
                } else {
                    finishWithHash()
                }
            }
        }
    }

    private func finish(
        _ write: RealtimeWrite, _ written: RealtimeWritten, _ principal: RealtimePrincipal, _ client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<RealtimeWritten, RealtimeServiceError>) -> Void
    ) {
        guard !principal.isAdmin, write.hasIncrements, written.hash != nil || !written.changes.isEmpty else {
            return completion(.success(written))
        }
        // They tell what there was.
        mayRead(write.targets.map(\.path), as: principal, for: client) { mayRead in
            completion(.success(mayRead ? written : RealtimeWritten()))
        }
    }

    // MARK: Staged values

    func stage(
        _ text: UnsafeRawBufferPointer, at path: RealtimePath, as principal: RealtimePrincipal,
        for client: RealtimeClient, progress: @escaping (Int) -> Bool
    ) throws(RealtimeServiceError) -> RealtimeStaging {
        guard mayWrite(path, as: principal) else { throw .permissionDenied }
        if let request = possibleWrite(of: path, as: principal) {
            let caller = caller(principal, client) ?? Self.admins
            do throws(RealtimeFailure) { try store.checkAndWait(request, of: .clientCommit(caller)) } catch {
                throw RealtimeServiceError(error, of: name)
            }
        }
        return try stage(text, at: path, progress: progress)
    }

    private func stage(
        _ text: UnsafeRawBufferPointer, at path: RealtimePath, progress: @escaping (Int) -> Bool
    ) throws(RealtimeServiceError) -> RealtimeStaging {
        do throws(StagingFailure) {
            let staged = try store.stage(text, at: path, in: name) { position throws(RealtimeFailure) in
                if !progress(position) { throw RealtimeFailure(from: DocumentError.callerLeft) }
            }
            return .value(staged.map { RealtimeWriteValue($0) } ?? RealtimeWriteValue(nil))
        } catch {
            switch error {
            case .needsMemory: return .needsMemory
            case .text(let error): return .invalid(error)
            case .store(let failure): throw RealtimeServiceError(failure, of: name)
            }
        }
    }

    /// What a decision may cost that waits for no turn, in units of about 50 ns.
    private static let maxEarlyCost = 20_000

    /// Whether the rules may allow a write of a path, whatever there is and is written. Nothing is read for that.
    private func mayWrite(_ path: RealtimePath, as principal: RealtimePrincipal) -> Bool {
        do {
            try access.requirePossibleWrite(
                of: path, as: principal, in: nil, now: shared.now(), maxCost: Self.maxEarlyCost, observer)
            return true
        } catch {
            return error is DecisionTooCostly
        }
    }

    /// A commit that writes nothing, and is refused if the rules deny a write of a path whatever is written.
    ///
    /// - Returns: nil if no decision has to be made.
    private func possibleWrite(of path: RealtimePath, as principal: RealtimePrincipal) -> RealtimeCommit? {
        if principal.isAdmin { return nil }
        if case .open = access { return nil }
        var request = RealtimeCommit([], in: name) { [self] before, _, now, maxCost in
            try access.requirePossibleWrite(of: path, as: principal, in: before, now: now, maxCost: maxCost, observer)
        }
        request.checkGeneration = { [self] in rules.withLock { $0.generation } }
        return request
    }

    /// Stages a value that is in memory, and writes it.
    private func stage(
        _ value: RealtimeWriteValue, at path: RealtimePath, ifHash hash: String?, _ options: RealtimeWriteOptions,
        _ principal: RealtimePrincipal, _ client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<RealtimeWritten, RealtimeServiceError>) -> Void
    ) {
        // Before it takes a turn, and the writer's time and the disk's room.
        guard mayWrite(path, as: principal) else { return completion(.failure(.permissionDenied)) }
        let question = possibleWrite(of: path, as: principal).map { (request: $0, place: client.writes.reserve()) }
        let place = client.writes.reserve()
        let caller = caller(principal, client) ?? Self.admins
        @Sendable func fail(_ error: RealtimeServiceError) {
            client.writes.submit(place) { completion(.failure(error)) }
        }
        @Sendable func begin() {
            shared.values.add(of: caller) { [self] in
                let staging = value.json.withUnsafeBytes { json in
                    Result { () throws(RealtimeServiceError) in
                        try stage(json, at: path) { _ in options.cancellation?.isCancelled != true }
                    }
                }
                switch staging {
                case .success(.value(let value)):
                    guard let staged = value.staged else { return fail(.failed("a large value has no nodes")) }
                    let write = RealtimeWrite.set(RealtimeTarget(path), value, ifHash: hash)
                    self.write(write, staged, at: place, options, principal, client, completion)
                case .success(.invalid(let error)): fail(.failed("\(error)"))
                case .success(.needsMemory): fail(.failed("a large value has server values"))
                case .failure(let error): fail(error)
                }
            }
        }
        guard let question else { return begin() }
        // In its turn: a write before may allow this one.
        store.commit(
            question.request, sequence: client.writes, at: question.place, of: .clientCommit(caller)
        ) { result in
            if case .failure(let failure) = result, failure.code == .denied { return fail(.permissionDenied) }
            begin()
        }
    }

    /// Writes a staged value.
    ///
    /// - Parameter place: the write's place among the client's.
    private func write(
        _ write: RealtimeWrite, _ staged: StagedValue, at place: Int, _ options: RealtimeWriteOptions,
        _ principal: RealtimePrincipal, _ client: RealtimeClient,
        _ completion: @escaping @Sendable (Result<RealtimeWritten, RealtimeServiceError>) -> Void
    ) {
        let caller = caller(principal, client) ?? Self.admins
        var commit = commit(write, as: principal)
        commit.client = client.retrying
        var context = context(of: principal, options)
        context.cancellation = options.cancellation
        let (request, operation) = (commit, context)
        @Sendable func fail(_ failure: RealtimeFailure) {
            client.writes.submit(place) { [name] in
                completion(.failure(RealtimeServiceError(failure, of: name)))
            }
        }
        // First, so that nothing is read for a client that may not write.
        store.check(request, of: .clientCommit(caller)) { [self] result in
            if case .failure(let failure) = result { return fail(failure) }
            read(staged, options, holder(principal, client), of: .client(caller)) { [self] result in
                switch result {
                case .failure(let failure): fail(failure)
                case .success(let written):
                    store.commit(
                        request, in: operation, sequence: client.writes, at: place, of: .clientCommit(caller)
                    ) { [name] result in
                        completion(result.map { _ in written }.mapError { RealtimeServiceError($0, of: name) })
                    }
                }
            }
        }
    }

    /// Reads what is wanted of a staged value. That is before it is written, since it may be changed right after.
    private func read(
        _ staged: StagedValue, _ options: RealtimeWriteOptions, _ holder: MemoryBudget.Holder, of caller: ReadCaller,
        _ completion: @escaping @Sendable (Result<RealtimeWritten, RealtimeFailure>) -> Void
    ) {
        guard options.wantsHash || options.wantsChanges else { return completion(.success(RealtimeWritten())) }
        let (spool, cancellation) = (shared.spool, options.cancellation ?? OperationCancellation())
        store.read(staged, of: caller) { state in
            var written = RealtimeWritten()
            if options.wantsHash { written.hash = try state.hash(at: staged.path, isExact: true) }
            if options.wantsChanges {
                written.content = try spool.collect(for: holder, until: cancellation) { receive in
                    try state.writeJSON(at: staged.path, as: .written, receive)
                }
            }
            return written
        } completion: {
            completion($0)
        }
    }

    private func context(of principal: RealtimePrincipal, _ options: RealtimeWriteOptions) -> OperationContext {
        OperationContext(auth: EventAuth(principal), firesEvents: !options.disablesTriggers)
    }

    private func mayRead(
        _ paths: [RealtimePath], as principal: RealtimePrincipal, for client: RealtimeClient,
        _ completion: @escaping @Sendable (Bool) -> Void
    ) {
        let (access, observer, now) = (access, RulesObserver(), shared.now())
        store.read(in: name, of: reader(principal, client, .short)) { state in
            for path in paths {
                try access.requireRead(of: path, nil, as: principal, in: state, now: now, observer)
            }
        } completion: { result in
            if case .success = result { completion(true) } else { completion(false) }
        }
    }

    /// A write under the rules.
    func commit(_ write: RealtimeWrite, as principal: RealtimePrincipal) -> RealtimeCommit {
        let cost = CheckCost()
        var request = RealtimeCommit([write], in: name, check: check(write, as: principal, noting: cost))
        request.checkCost = { cost.last }
        // It may be another one when the writer makes it.
        if case .open = access { request.isCheckQuick = true }
        request.checkGeneration = { [self] in rules.withLock { $0.generation } }
        request.triggerLimits = settings.withLock { $0.triggerLimits }
        return request
    }

    func check(
        _ write: RealtimeWrite, as principal: RealtimePrincipal, noting cost: CheckCost? = nil
    ) -> RealtimeCheck? {
        guard !principal.isAdmin else { return nil }
        // The rules of the moment at which it is decided.
        return { [self] before, after, now, maxCost in
            try access.requireWrite(
                write, as: principal, before: before, after: after, now: now, maxCost: maxCost,
                cost?.noting(observer) ?? observer)
        }
    }
}

extension EventAuth {
    /// The author of a change.
    init(_ principal: RealtimePrincipal) {
        switch principal {
        case .admin: self.init(.serviceAccount)
        case .client(nil): self.init(.unauthenticated)
        case .client(let auth?): self.init(.appUser, id: auth.uid)
        }
    }
}
