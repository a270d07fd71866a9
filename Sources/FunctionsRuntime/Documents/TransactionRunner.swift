package import DocumentModel

/// How a transaction ended well.
package enum TransactionOutcome<Result: Sendable>: Sendable {
    /// The body ran and its writes are stored.
    case committed(Result, CommitResult)
    /// The work was done before under the same key; nothing was written now. This is the answer it gave then.
    case completed([UInt8])
}

/// Runs a body in a transaction until it commits: begin, body, commit, and again where a concurrent one won.
///
/// There is no pause between attempts: the store gives a transaction that lost its turn.
package struct TransactionRunner: Sendable {
    private let firestore: Firestore
    private let options: TransactionOptions

    package init(transport: any DocumentTransport, options: TransactionOptions = .readWrite()) {
        self.firestore = Firestore(transport: transport)
        self.options = options
    }

    /// Runs `body` as often as the options allow.
    ///
    /// - Parameters:
    ///   - completing: the function's answer as bytes, which becomes final with the commit; nil where there is none.
    ///   - body: what reads and buffers writes. It may run more than once, so it changes nothing outside.
    /// - Throws: what the body threw, after a rollback; `CancellationError` where the task is cancelled between
    ///   attempts; the store's last `aborted` where every attempt lost. Nothing is written in any of these cases.
    package func run<Result: Sendable>(
        completing: @Sendable (Result) throws -> [UInt8]? = { _ in nil },
        _ body: @Sendable (Transaction) async throws -> Result
    ) async throws -> TransactionOutcome<Result> {
        var retrying: TransactionID?
        var lost: DocumentError?
        for _ in 0..<max(1, options.attempts) {
            try Task.checkCancellation()
            switch try await attempt(retrying: retrying, completing: completing, body) {
            case .ended(let outcome): return outcome
            case .aborted(let transaction, let error):
                retrying = transaction ?? retrying
                lost = error
            }
        }
        throw lost ?? DocumentError(.aborted, "the transaction lost to concurrent ones")
    }

    private enum Attempt<Result: Sendable> {
        case ended(TransactionOutcome<Result>)
        case aborted(TransactionID?, DocumentError)
    }

    private func attempt<Result: Sendable>(
        retrying: TransactionID?, completing: (Result) throws -> [UInt8]?,
        _ body: (Transaction) async throws -> Result
    ) async throws -> Attempt<Result> {
        let transaction: Transaction
        do {
            let response = try await firestore.transport.send(.begin(options.mode(retrying: retrying)))
            switch response {
            case .began(let id, let prefetched):
                transaction = Transaction(
                    firestore: firestore, id: id, prefetched: prefetched, isReadOnly: options.readOnly != nil)
            case .completed(let answer): return .ended(.completed(answer))
            default: throw DocumentError.unexpected(response, to: "begin")
            }
        } catch let error as DocumentError where error.code == .aborted {
            return .aborted(nil, error)
        }

        let result: Result
        let answer: [UInt8]?
        do {
            result = try await body(transaction)
            answer = try completing(result)
            try Task.checkCancellation()
        } catch {
            // A body may have caught or reworded the abort that one of its reads met; the transaction remembers it.
            if let lost = transaction.end().lost { return .aborted(transaction.id, lost) }
            // What an earlier try has done meanwhile may be why the body failed.
            if let answer = await rollBack(transaction.id) { return .ended(.completed(answer)) }
            throw error
        }

        let end = transaction.end()
        if let lost = end.lost { return .aborted(transaction.id, lost) }
        return try await commit(end.writes, end.effects, of: transaction.id, result: result, answer: answer)
    }

    private func commit<Result: Sendable>(
        _ writes: [Write], _ effects: [Effect], of transaction: TransactionID, result: Result, answer: [UInt8]?
    ) async throws -> Attempt<Result> {
        do {
            let request = DocumentRequest.commit(
                writes, transaction: transaction, completing: answer, effects: effects)
            let response = try await firestore.transport.send(request)
            switch response {
            case .committed(let committed): return .ended(.committed(result, committed))
            case .completed(let answer): return .ended(.completed(answer))
            default: throw DocumentError.unexpected(response, to: "commit")
            }
        } catch let error as DocumentError where error.code == .aborted {
            return .aborted(transaction, error)
        } catch {
            if let answer = await rollBack(transaction) { return .ended(.completed(answer)) }
            throw error
        }
    }

    /// Tells the store that the transaction won't commit. A store that can't be told lets it expire.
    ///
    /// - Returns: the answer of an earlier try, where the work turns out to have been done by it.
    private func rollBack(_ transaction: TransactionID) async -> [UInt8]? {
        let transport = firestore.transport
        // A task of its own: where this one is cancelled, the store is told all the same.
        return await Task {
            guard case .completed(let answer)? = try? await transport.send(.rollback(transaction)) else { return nil }
            return answer
        }.value
    }
}
