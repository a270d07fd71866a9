import CommitPipeline
import DocumentModel
import StorageEngine
import Synchronization

/// Commits writes, as the end of a transaction if there is one.
struct WriteCommit: CommitJob {
    let store: DocumentStore
    let writes: [Write]
    let transaction: TransactionID?
    let completing: [UInt8]?
    let effects: [Effect]
    let context: OperationContext
    /// For a client's commit.
    var decision: CommitDecision?
    /// How often it was decided.
    var decisions = 0
    /// Makes the parts of other kinds of data, on the writer's thread, where they live.
    var others: @Sendable () -> [any CommitPart] = { [] }
    let completion: DocumentStore.Completion<CommitAnswer>

    /// How often a commit is decided whose decision would keep the writer.
    static let maxDecisions = 5

    var endedTransaction: TransactionID? { transaction }

    func run(in batch: CommitBatch) throws {
        let part = DocumentCommit(writes, transaction, decision: decision, store.writer, store.parts)
        let outcome = try batch.run(Commit([part] + others(), answer: completing, effects: effects, in: context))
        // An undecided transaction has ended.
        if part.isUndecided, transaction == nil, decisions < Self.maxDecisions {
            // Only then can a reader see what has changed.
            return batch.whenDurable { error in
                if let error { fail(error) } else { store.decide(self) }
            }
        }
        let answer = part.answer(to: outcome)
        batch.whenDurable { [completion] in completion($0.map { .failure($0) } ?? answer) }
    }

    func fail(_ error: DocumentError) { completion(.failure(error)) }
}

/// Does independent writes, each as a commit of its own in the open batch.
struct BatchWrite: CommitJob {
    let store: DocumentStore
    let writes: [Write]
    /// What was decided on a client's writes before, by their number.
    var decisions: [Int: Result<CommitDecision, DocumentError>] = [:]
    /// How often they were decided.
    var attempts = 0
    let context: OperationContext
    let completion: DocumentStore.Completion<[Result<WriteResult, DocumentError>]>

    func run(in batch: CommitBatch) throws {
        do throws(DocumentError) {
            try DocumentLimits.check(batch: writes)
        } catch {
            return fail(error)
        }
        var results: [Result<WriteResult, DocumentError>] = []
        var undecided: [Int] = []
        var decisionCost = DocumentCommit.maxDecisionCost
        let start = batch.bytes
        var cost = 0
        for (number, write) in writes.enumerated() {
            let decision: CommitDecision?
            do throws(DocumentError) {
                decision = try decisions[number]?.get()
                // Sent by itself, such a write may succeed.
                try CommitCost.check(
                    cost, store.configuration.maxClientCommitCost, refusing: .resourceExhausted)
            } catch {
                results.append(.failure(error))
                continue
            }
            guard batch.bytes - start < batch.maxBytes else {
                results.append(.failure(Self.batchIsFull))
                continue
            }
            let part = DocumentCommit(
                [write], nil, decision: decision, maxDecisionCost: decisionCost, store.writer, store.parts)
            let outcome = try batch.run(Commit([part], in: context))
            decisionCost -= part.decisionCost
            if part.isUndecided { undecided.append(number) }
            if context.policy != nil { cost += part.cost }
            do throws(DocumentError) {
                let committed = try part.answer(to: outcome).get().result
                results.append(contentsOf: committed.writeResults.map { .success($0) })
            } catch {
                results.append(.failure(error))
            }
        }
        guard !undecided.isEmpty, attempts < WriteCommit.maxDecisions else {
            return batch.whenDurable { [completion, results] in completion($0.map { .failure($0) } ?? .success(results))
            }
        }
        // By then, readers see what these writes depend on.
        batch.whenDurable { [results, undecided] error in
            if let error { return fail(error) }
            store.decide(again(undecided, after: results))
        }
    }

    /// Those of the writes that were too costly to decide here.
    private func again(_ numbers: [Int], after results: [Result<WriteResult, DocumentError>]) -> BatchWrite {
        BatchWrite(
            store: store, writes: numbers.map { writes[$0] }, attempts: attempts, context: context
        ) { [completion] rest in
            var all = results
            switch rest {
            case .success(let rest): for (number, result) in zip(numbers, rest) { all[number] = result }
            // The others are done.
            case .failure(let error): for number in numbers { all[number] = .failure(error) }
            }
            completion(.success(all))
        }
    }

    func fail(_ error: DocumentError) { completion(.failure(error)) }

    static let batchIsFull = DocumentError(
        .unavailable, "the writes before this one changed documents as large as a batch may hold; send it again")
}

/// Rolls a transaction back.
struct Rollback: CommitJob {
    let store: DocumentStore
    let transaction: TransactionID
    let context: OperationContext
    let completion: DocumentStore.Completion<RollbackAnswer>

    var endedTransaction: TransactionID? { transaction }

    func run(in batch: CommitBatch) throws {
        do {
            try store.writer.turns.rollBack(transaction, context)
            // An earlier attempt's commit may have come after this one's begin: this attempt then failed after it had
            // seen the effect.
            if let key = context.completion,
                case .answer(let answer)? = try CompletionRecord.answer(
                    to: key, in: batch.storage, at: batch.now(), within: context.answer)
            {
                batch.whenDurable { [completion] in
                    completion($0.map { .failure($0) } ?? .success(.completed(answer)))
                }
            } else {
                // The answer is valid whatever the outcome of the batch.
                completion(.success(.rolledBack))
            }
        } catch let error as StorageError where !error.isOfRows {
            throw error
        } catch {
            // It writes nothing, so the batch goes on.
            fail(DocumentError(from: error))
        }
    }

    func fail(_ error: DocumentError) { completion(.failure(error)) }
}

/// Begins a transaction that retries an aborted one, when its turn has come.
struct RetryBegin: CommitJob {
    let store: DocumentStore
    /// The aborted transaction.
    let retried: TransactionID
    let context: OperationContext
    let completion: DocumentStore.Completion<BeginAnswer>

    var isWanted: Bool { !(context.cancellation?.isCancelled ?? false) }

    func run(in batch: CommitBatch) { store.writer.turns.begin(self, in: batch) }

    func fail(_ error: DocumentError) { completion(.failure(error)) }

    /// Answers with what the function has answered before, once the batch is durable that may hold it.
    func complete(_ earlier: BeginAnswer, with batch: CommitBatch) {
        batch.whenDurable { [completion] in completion($0.map { .failure($0) } ?? .success(earlier)) }
    }
}

extension BeginAnswer {
    init(_ kept: KeptAnswer) {
        switch kept {
        case .answer(let answer): self = .completed(answer)
        case .otherData: self = .keyReused
        }
    }
}
