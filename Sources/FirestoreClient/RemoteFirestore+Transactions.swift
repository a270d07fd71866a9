import DocumentModel
import FirestoreJSON
import GoogleREST
import StrictJSON
import Synchronization
import TextFormats

/// The write operations, and transactions.
extension RemoteFirestore {
    /// Begins a transaction.
    ///
    /// A retry waits first, longer each time, because the service doesn't queue transactions that lost a conflict. If
    /// the call has an idempotency key, the transaction first reads the document for the kept answer. So of two calls
    /// with the same key, only one commits, and the other finds its answer.
    func begin(_ mode: TransactionMode, _ context: OperationContext) async throws(DocumentError) -> BeginAnswer {
        try transactions.withLock { table throws(DocumentError) in try table.checkCapacity() }
        let lost = if case .readWrite(let retrying) = mode { retrying } else { nil as TransactionID? }
        let retried = transactions.withLock { table in lost.flatMap { table.retry($0, owner: context.owner) } }
        let failures = retried.map { $0.failures + 1 } ?? 0
        if let retried {
            if case .open = retried.phase { await rollBackAtService(retried.remoteID) }
            await service.wait(afterFailures: failures)
        }
        var entry = RemoteTransactions.Entry(owner: context.owner, remoteID: [], failures: failures)
        do throws(DocumentError) {
            if case .readWrite = mode, let key = context.completion {
                if let answer = try await begin(&entry, mode, retrying: retried?.remoteID, under: key) {
                    return answer
                }
            } else {
                var body = JSONWriter()
                body.raw("{\"options\":")
                body.transactionOptions(mode, retrying: retried?.remoteID)
                body.raw("}")
                entry.remoteID = try Self.transaction(
                    try await service.ask("beginTransaction", body, isCancellable: false))
            }
        } catch {
            // A function's caller would take INVALID_ARGUMENT for a mistake of its own.
            guard error.code == .invalidArgument else { throw error }
            throw DocumentError(.failedPrecondition, error.message)
        }
        let begun = entry
        return .began(
            transactions.withLock { table in
                if let lost, retried != nil { table.remove(lost) }
                return table.add(begun)
            }, prefetched: [])
    }

    /// Begins a transaction that reads the kept answer of a key.
    ///
    /// - Returns: the kept answer if there is one, or that the key was used with other data; nil if the transaction goes
    ///   on.
    private func begin(
        _ entry: inout RemoteTransactions.Entry, _ mode: TransactionMode, retrying: [UInt8]?, under key: CompletionKey
    ) async throws(DocumentError) -> BeginAnswer? {
        let path = try RemoteCompletion.path(of: key)
        var body = JSONWriter()
        body.documents([path], in: database)
        body.consistency(.new(mode, retrying: retrying))
        let stream = try await service.ask("batchGet", body, isCancellable: false).stream()
        entry.remoteID = try Self.transaction(stream.first { $0["transaction"] != nil })
        let kept: Document?
        do throws(DocumentError) {
            kept = try documents(stream).found[path] ?? nil
        } catch {
            await rollBackAtService(entry.remoteID)
            throw error
        }
        if let kept, let answer = RemoteCompletion.answer(to: key, in: kept, at: now()) {
            await rollBackAtService(entry.remoteID)
            return answer
        }
        entry.completion = kept.map { .updateTime($0.updateTime) } ?? .exists(false)
        return nil
    }

    private static func transaction(_ node: JSONNode?) throws(DocumentError) -> [UInt8] {
        guard let bytes = try? node?["transaction"]?.bytes(), !bytes.isEmpty else {
            throw FirestoreService.unreadable("the transaction id is missing")
        }
        return bytes
    }

    func commit(
        _ writes: [Write], _ id: TransactionID?, completing answer: [UInt8]?, _ effects: [Effect],
        _ context: OperationContext
    ) async throws(DocumentError) -> CommitAnswer {
        guard effects.isEmpty else { throw Self.noEffects }
        guard let id else {
            // What the answer is kept under is read by the transaction.
            guard answer == nil || context.completion == nil else {
                throw DocumentError(.internal, "a function whose call has a key commits outside of its transaction")
            }
            return .committed(try await commitAlone(writes))
        }
        let entry = try transactions.withLock { table throws(DocumentError) in
            try table.beginEnding(id, owner: context.owner)
        }
        do throws(DocumentError) {
            var all = writes
            if let answer, let key = context.completion, let precondition = entry.completion {
                all.append(try RemoteCompletion.write(answer, for: key, precondition, at: now()))
            }
            var result = try await commit(all, transaction: entry.remoteID)
            result.writeResults.removeLast(all.count - writes.count)
            transactions.withLock { $0.remove(id) }
            return .committed(result)
        } catch {
            let isLost = error.code == .aborted
            let isKnown = transactions.withLock { table in
                guard isLost else { return table.reopen(id) }
                table.markLost(id)
                return true
            }
            if !isKnown { rollBackInBackground(entry.remoteID) }
            throw error
        }
    }

    /// Commits writes outside of a transaction. Cloud Firestore refuses them with `aborted` while many others write the
    /// same documents. They haven't happened then, so they are sent again, as Google's libraries do.
    func commitAlone(_ writes: [Write]) async throws(DocumentError) -> CommitResult {
        var failures = 0
        while true {
            do throws(DocumentError) {
                return try await commit(writes, transaction: nil)
            } catch {
                failures += 1
                guard error.code == .aborted, failures < Self.maxCommits else { throw error }
            }
            await service.wait(afterFailures: failures)
        }
    }

    private static let maxCommits = 5

    /// Commits once: if the response is lost, it is unknown whether the commit succeeded, so it isn't sent again. A
    /// function whose call has a key finds out when it rolls back.
    private func commit(_ writes: [Write], transaction: [UInt8]?) async throws(DocumentError) -> CommitResult {
        var body = JSONWriter()
        body.raw("{\"writes\":")
        body.array(writes) { $0.write($1, in: database) }
        if let transaction {
            body.raw(",\"transaction\":")
            body.string(Base64.encode(transaction))
        }
        body.raw("}")
        let answer = try await service.ask("commit", body, isRepeatable: false, isCancellable: false)
        return try answer.answer { (answer) throws(JSONProblem) in
            guard let time = answer["commitTime"] else { throw answer.problem("commitTime is missing") }
            return CommitResult(
                commitTime: try time.timestamp(), writeResults: try answer.writeResults(of: writes))
        }
    }

    func batchWrite(_ writes: [Write]) async throws(DocumentError) -> [Result<WriteResult, DocumentError>] {
        guard !writes.isEmpty else { return [] }
        var body = JSONWriter()
        body.raw("{\"writes\":")
        body.array(writes) { $0.write($1, in: database) }
        body.raw("}")
        let answer = try await service.ask("batchWrite", body, isRepeatable: false, isCancellable: false)
        return try answer.answer { (answer) throws(JSONProblem) in
            let results = try answer.writeResults(of: writes)
            let states = try answer["status"]?.elements() ?? []
            guard states.count == writes.count else {
                throw answer.problem("it contains \(states.count) statuses for \(writes.count) writes")
            }
            return try zip(results, states).map { (result, state) throws(JSONProblem) in
                try state.status().map { .failure($0) } ?? .success(result)
            }
        }
    }

    /// - Returns: the kept answer, if an earlier attempt under the call's key turns out to have committed.
    func rollback(_ id: TransactionID, _ context: OperationContext) async throws(DocumentError) -> RollbackAnswer {
        if transactions.withLock({ $0.isLost(id, owner: context.owner) }) { return .rolledBack }
        let entry = try transactions.withLock { table throws(DocumentError) in
            try table.beginEnding(id, owner: context.owner)
        }
        transactions.withLock { $0.remove(id) }
        await rollBackAtService(entry.remoteID)
        if let key = context.completion, entry.completion != nil, let answer = await keptAnswer(key) {
            return .completed(answer)
        }
        return .rolledBack
    }

    private func keptAnswer(_ key: CompletionKey) async -> [UInt8]? {
        guard let path = try? RemoteCompletion.path(of: key),
            let found = try? await get([path], .strong, OperationContext()).documents,
            let kept = found.first ?? nil,
            case .completed(let answer)? = RemoteCompletion.answer(to: key, in: kept, at: now())
        else { return nil }
        return answer
    }

    /// Rolls back at the service. If that fails, the transaction expires there.
    func rollBackAtService(_ remoteID: [UInt8]) async {
        var body = JSONWriter()
        body.raw("{\"transaction\":")
        body.string(Base64.encode(remoteID))
        body.raw("}")
        let rollback = body
        // Runs in its own task, which isn't cancelled with the caller's.
        await Task { _ = try? await service.ask("rollback", rollback) }.value
    }

    static let noEffects = DocumentError(
        .failedPrecondition,
        "a standalone function can't enqueue tasks or publish events, because no host would deliver them; run "
            + "the bundle under functions-host, or call Cloud Tasks or Pub/Sub")
}

extension JSONNode {
    /// The `writeResults` of a response, one for each write.
    fileprivate func writeResults(of writes: [Write]) throws(JSONProblem) -> [WriteResult] {
        let nodes = try self["writeResults"]?.elements() ?? []
        guard nodes.count == writes.count else {
            throw problem("it contains \(nodes.count) results for \(writes.count) writes")
        }
        return try zip(nodes, writes).map { (node, write) throws(JSONProblem) in try node.writeResult(of: write) }
    }
}
