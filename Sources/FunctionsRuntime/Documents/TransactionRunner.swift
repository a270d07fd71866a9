package import DocumentModel
import UserModel
import WorkerProtocol

/// How a successful transaction ended.
package enum TransactionOutcome<Result: Sendable>: Sendable {
    /// The body ran and its writes are stored.
    case committed(Result, CommitResult)
    /// The function completed earlier under the same key, and nothing was written now. This is its stored response.
    case completed([UInt8])
}

/// Runs a body in a transaction until it commits: begin, body, commit, and again after a conflict.
///
/// There is no delay between attempts: the store gives the retry priority.
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
    ///   - completing: The function's response, which becomes final with the commit; nil if there is none.
    ///   - body: Reads and buffers writes. It may run several times, so it must have no side effects outside the
    ///     transaction.
    /// - Throws: The body's error, after a rollback; ``AuthError`` if a change of users is refused; `CancellationError` if the task is cancelled between attempts; the
    ///   store's last `aborted` if every attempt lost. In all these cases nothing is written.
    package func run<Result: Sendable>(
        completing: @Sendable (Result) throws -> [UInt8]? = { _ in nil },
        _ body: @Sendable (Transaction) async throws -> Result
    ) async throws -> TransactionOutcome<Result> {
        var retrying: TransactionID?
        var lost: DocumentError?
        var attempts = max(1, options.attempts)
        var made = 0
        while made < attempts {
            try Task.checkCancellation()
            made += 1
            switch try await attempt(retrying: retrying, completing: completing, body) {
            case .ended(let outcome): return outcome
            case .aborted(let transaction, let error, let readsDatabase):
                retrying = transaction ?? retrying
                lost = error
                // What is read there isn't locked for the retry: as many as for a transaction of that database alone.
                if readsDatabase, attempts > 1 { attempts = max(attempts, DatabaseReference.maxAttempts) }
            }
        }
        throw lost ?? DocumentError(.aborted, "the transaction lost to concurrent transactions")
    }

    private enum Attempt<Result: Sendable> {
        case ended(TransactionOutcome<Result>)
        case aborted(TransactionID?, DocumentError, readsDatabase: Bool = false)
    }

    private func attempt<Result: Sendable>(
        retrying: TransactionID?, completing: (Result) throws -> [UInt8]?,
        _ body: (Transaction) async throws -> Result
    ) async throws -> Attempt<Result> {
        let transaction: Transaction
        switch try await begin(retrying: retrying) {
        case .begun(let begun): transaction = begun
        case .completed(let answer): return .ended(.completed(answer))
        case .aborted(let error): return .aborted(nil, error)
        }

        let result: Result
        let answer: [UInt8]?
        do {
            result = try await body(transaction)
            answer = try completing(result)
            try Task.checkCancellation()
        } catch {
            // The body may have caught or replaced the abort of one of its reads; the transaction recorded it.
            if let lost = await transaction.end().lost { return .aborted(transaction.id, lost) }
            // The body may have failed because of what an earlier attempt has already done.
            if let id = transaction.id, let answer = await rollBack(id) { return .ended(.completed(answer)) }
            throw error
        }

        let end = await transaction.end()
        if let lost = end.lost { return .aborted(transaction.id, lost) }
        return try await commit(end, of: transaction, result: result, answer: answer)
    }

    private enum Begin {
        case begun(Transaction)
        case completed([UInt8])
        case aborted(DocumentError)
    }

    private func begin(retrying: TransactionID?) async throws -> Begin {
        // What a transaction under an idempotency key has done before must be known before its body runs.
        if retrying == nil, options.readOnly == nil, firestore.transport.beginsWithReads {
            return .begun(Transaction(firestore: firestore))
        }
        do throws(DocumentError) {
            let response = try await firestore.transport.send(.begin(options.mode(retrying: retrying)))
            switch response {
            case .began(let id, let prefetched):
                return .begun(
                    Transaction(
                        firestore: firestore, id: id, prefetched: prefetched, isReadOnly: options.readOnly != nil))
            case .completed(let answer): return .completed(answer)
            default: throw .unexpected(response, to: "begin")
            }
        } catch {
            guard error.code == .aborted else { throw error }
            return .aborted(error)
        }
    }

    private func commit<Result: Sendable>(
        _ end: Transaction.End, of transaction: Transaction, result: Result, answer: [UInt8]?
    ) async throws -> Attempt<Result> {
        do {
            // Without a read there is nothing that another transaction could change meanwhile.
            let request: DocumentRequest =
                end.changes.isEmpty
                ? .commit(end.writes, transaction: transaction.id, completing: answer, effects: end.effects)
                : .commitAll(
                    end.changes, end.writes, transaction: try await transaction.begin(isCommitting: true),
                    completing: answer, effects: end.effects)
            let response = try await firestore.transport.send(request)
            switch response {
            case .committed(let committed): return .ended(.committed(result, committed))
            case .completed(let answer): return .ended(.completed(answer))
            case .usersRefused(let message): throw AuthError(refusal: message)
            default: throw DocumentError.unexpected(response, to: "commit")
            }
        } catch let error as DocumentError where error.code == .aborted {
            return .aborted(transaction.id, error, readsDatabase: !end.changes.database.expectations.isEmpty)
        } catch {
            if let id = transaction.id, let answer = await rollBack(id) { return .ended(.completed(answer)) }
            throw error
        }
    }

    /// Rolls the transaction back. If the store can't be reached, the transaction expires.
    ///
    /// - Returns: The stored response, if an earlier attempt turns out to have committed.
    private func rollBack(_ transaction: TransactionID) async -> [UInt8]? {
        let transport = firestore.transport
        // Runs in a separate task, so that the rollback is sent even if this one is cancelled.
        return await Task {
            guard case .completed(let answer)? = try? await transport.send(.rollback(transaction)) else { return nil }
            return answer
        }.value
    }
}
