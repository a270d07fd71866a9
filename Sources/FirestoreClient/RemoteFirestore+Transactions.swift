import DocumentModel
import FirestoreJSON
import GoogleREST
import HostJSON
import Synchronization

/// What functions write, and their transactions.
extension RemoteFirestore {
    /// Begins a transaction.
    ///
    /// One that is tried again waits a little first, longer each time: the service gives no turns. Where the call has a
    /// key, the document that keeps its answer is the first that the transaction reads. So of two calls under one key one
    /// commits, and the other finds its answer.
    func begin(_ mode: TransactionMode, _ context: OperationContext) async throws(DocumentError) -> DocumentResponse {
        try transactions.withLock { table throws(DocumentError) in try table.checkRoom() }
        let lost = if case .readWrite(let retrying) = mode { retrying } else { nil as TransactionID? }
        let retried = transactions.withLock { table in lost.flatMap { table.retry($0, owner: context.owner) } }
        let failures = retried.map { $0.failures + 1 } ?? 0
        if let retried {
            if case .open = retried.phase { await abandon(retried.remote) }
            await service.wait(afterFailures: failures)
        }
        var entry = RemoteTransactions.Entry(owner: context.owner, remote: [], failures: failures)
        do throws(DocumentError) {
            if case .readWrite = mode, let key = context.completion {
                if let response = try await begin(&entry, mode, retrying: retried?.remote, under: key) {
                    return response
                }
            } else {
                var body = JSONText()
                body.raw("{\"options\":")
                body.transactionOptions(mode, retrying: retried?.remote)
                body.raw("}")
                entry.remote = try Self.transaction(try await service.ask("beginTransaction", body, isCut: false))
            }
        } catch {
            // A function's caller takes INVALID_ARGUMENT for a mistake of its own.
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

    /// Begins a transaction with the read of what is kept under a key.
    ///
    /// - Returns: the answer where there is one already, or the refusal of a key that was used otherwise.
    private func begin(
        _ entry: inout RemoteTransactions.Entry, _ mode: TransactionMode, retrying: [UInt8]?, under key: CompletionKey
    ) async throws(DocumentError) -> DocumentResponse? {
        let path = try RemoteCompletion.path(of: key)
        var body = JSONText()
        body.documents([path], in: database)
        body.consistency(.new(mode, retrying: retrying))
        let stream = try await service.ask("batchGet", body, isCut: false).stream()
        entry.remote = try Self.transaction(stream.first { $0["transaction"] != nil })
        let kept: Document?
        do throws(DocumentError) {
            kept = try documents(stream).found[path] ?? nil
        } catch {
            await abandon(entry.remote)
            throw error
        }
        if let kept, let response = RemoteCompletion.response(to: key, in: kept, at: now()) {
            await abandon(entry.remote)
            return response
        }
        entry.completion = kept.map { .updateTime($0.updateTime) } ?? .exists(false)
        return nil
    }

    private static func transaction(_ node: JSONNode?) throws(DocumentError) -> [UInt8] {
        guard let bytes = try? node?["transaction"]?.bytes(), !bytes.isEmpty else {
            throw FirestoreService.unreadable("it tells no transaction")
        }
        return bytes
    }

    func commit(
        _ writes: [Write], _ id: TransactionID?, completing answer: [UInt8]?, _ effects: [Effect],
        _ context: OperationContext
    ) async throws(DocumentError) -> DocumentResponse {
        guard effects.isEmpty else { throw Self.noEffects }
        guard let id else { return .committed(try await commit(writes, transaction: nil)) }
        let entry = try transactions.withLock { table throws(DocumentError) in
            try table.beginEnd(id, owner: context.owner)
        }
        do throws(DocumentError) {
            var all = writes
            if let answer, let key = context.completion, let precondition = entry.completion {
                all.append(try RemoteCompletion.write(answer, for: key, precondition, at: now()))
            }
            var result = try await commit(all, transaction: entry.remote)
            result.writeResults.removeLast(all.count - writes.count)
            transactions.withLock { $0.remove(id) }
            return .committed(result)
        } catch {
            let isLost = error.code == .aborted
            let isKnown = transactions.withLock { table in
                guard isLost else { return table.refused(id) }
                table.lost(id)
                return true
            }
            if !isKnown { leave(entry.remote) }
            throw error
        }
    }

    /// A commit isn't sent a second time: where its answer is lost nobody knows what became of it. A function whose call
    /// has a key learns it when it rolls back.
    private func commit(_ writes: [Write], transaction: [UInt8]?) async throws(DocumentError) -> CommitResult {
        var body = JSONText()
        body.raw("{\"writes\":")
        body.array(writes) { $0.write($1, in: database) }
        if let transaction {
            body.raw(",\"transaction\":")
            body.base64(transaction)
        }
        body.raw("}")
        let answer = try await service.ask("commit", body, isRepeatable: false, isCut: false)
        return try answer.answer { (answer) throws(JSONProblem) in
            guard let time = answer["commitTime"] else { throw answer.problem("it has no commitTime") }
            return CommitResult(
                commitTime: try time.timestamp(), writeResults: try answer.writeResults(of: writes))
        }
    }

    func batchWrite(_ writes: [Write]) async throws(DocumentError) -> DocumentResponse {
        guard !writes.isEmpty else { return .written([]) }
        var body = JSONText()
        body.raw("{\"writes\":")
        body.array(writes) { $0.write($1, in: database) }
        body.raw("}")
        let answer = try await service.ask("batchWrite", body, isRepeatable: false, isCut: false)
        return try answer.answer { (answer) throws(JSONProblem) in
            let results = try answer.writeResults(of: writes)
            let states = try answer["status"]?.elements() ?? []
            guard states.count == writes.count else { throw answer.problem("it has \(states.count) states") }
            return .written(
                try zip(results, states).map { (result, state) throws(JSONProblem) in
                    try state.status().map { .failure($0) } ?? .success(result)
                })
        }
    }

    /// - Returns: the answer of an earlier try under the call's key, where the work turns out to have been done by it.
    func rollback(_ id: TransactionID, _ context: OperationContext) async throws(DocumentError) -> DocumentResponse {
        if transactions.withLock({ $0.isLost(id, owner: context.owner) }) { return .rolledBack }
        let entry = try transactions.withLock { table throws(DocumentError) in
            try table.beginEnd(id, owner: context.owner)
        }
        transactions.withLock { $0.remove(id) }
        await abandon(entry.remote)
        if let key = context.completion, entry.completion != nil, let response = await completed(key) {
            return response
        }
        return .rolledBack
    }

    private func completed(_ key: CompletionKey) async -> DocumentResponse? {
        guard let path = try? RemoteCompletion.path(of: key),
            case .documents(let found, _)? = try? await get([path], .strong, OperationContext()),
            let kept = found.first ?? nil,
            case .completed(let answer)? = RemoteCompletion.response(to: key, in: kept, at: now())
        else { return nil }
        return .completed(answer)
    }

    /// Rolls back at the service. One that can't be told lets the transaction expire.
    func abandon(_ remote: [UInt8]) async {
        var body = JSONText()
        body.raw("{\"transaction\":")
        body.base64(remote)
        body.raw("}")
        let rollback = body
        // In a task of its own, which nobody cancels.
        await Task { _ = try? await service.ask("rollback", rollback) }.value
    }

    static let noEffects = DocumentError(
        .failedPrecondition,
        "a function that is served alone enqueues no tasks and publishes no events, since no host runs them; run the bundle "
            + "under functions-host, or call Cloud Tasks or Pub/Sub")
}

extension JSONNode {
    /// The `writeResults` of an answer, one for each write.
    fileprivate func writeResults(of writes: [Write]) throws(JSONProblem) -> [WriteResult] {
        let nodes = try self["writeResults"]?.elements() ?? []
        guard nodes.count == writes.count else {
            throw problem("it has \(nodes.count) results of \(writes.count) writes")
        }
        return try zip(nodes, writes).map { (node, write) throws(JSONProblem) in try node.writeResult(of: write) }
    }
}
