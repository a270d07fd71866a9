package import CommitPipeline
import DocumentModel
import RealtimeHashing
import RealtimeModel
package import StorageEngine

/// The part of a commit that changes the Realtime Database.
package final class RealtimeCommitPart: CommitPart {
    private let request: RealtimeCommit
    private let early: EarlyDecision?
    private let kind: RealtimeRows
    /// What deciding on it again may cost here.
    private let maxCheckCost: Int
    private var plan: WritePlan?
    private var caused: [CausedEvent] = []
    /// Why the part has refused the commit.
    package private(set) var failure: RealtimeFailure?
    /// Whether it was refused because what it was decided on has changed, and deciding again would take the writer long.
    private(set) var isUndecided = false
    /// Once the commit was applied.
    package private(set) var result: RealtimeCommitted?

    init(
        _ request: RealtimeCommit, early: EarlyDecision? = nil, maxCheckCost: Int? = nil, of kind: RealtimeRows
    ) {
        self.maxCheckCost = maxCheckCost ?? kind.configuration.maxWriterCheckCost
        self.request = request
        self.early = early
        self.kind = kind
    }

    package func prepare(_ commit: Commit, version: Int64, by routes: EventRoutes, in batch: CommitBatch) throws {
        do {
            let triggers: RealtimeTriggers? =
                commit.context.firesEvents ? routes.triggers(of: RealtimeRows.self) : nil
            plan = try decide(version: version, triggers, in: batch)
        } catch let error as StorageError where !error.isOfRows {
            throw error
        } catch is DecisionTooCostly {
            isUndecided = true
            // A registration stays, and is retried.
            let failure = RealtimeFailure(
                .unavailable, "what the decision on the write depends on was changed meanwhile; retry")
            self.failure = failure
            throw failure.documentError
        } catch {
            if let unread = error as? StorageError, unread.kind == .unavailable { batch.reportUnread(unread) }
            let failure = RealtimeFailure(from: error)
            self.failure = failure
            throw failure.documentError
        }
    }

    private func decide(
        version: Int64, _ triggers: RealtimeTriggers?, in batch: CommitBatch
    ) throws -> WritePlan? {
        if let registration = request.registration, try !DisconnectRows(storage: batch.storage).exists(registration) {
            throw RealtimeFailure(.invalid, "the onDisconnect was written or cancelled before")
        }
        if let staged = request.writes.lazy.compactMap(\.staged).first {
            guard request.writes.count == 1 else {
                throw RealtimeFailure(.invalid, "a large value has other writes beside it in its commit")
            }
            guard kind.hasStagedTree(staged.tree) else {
                throw RealtimeFailure(.unavailable, "the large value was written before; send it again")
            }
        }
        let record = try kind.record(of: request.namespace)
        let base = TreeRows(storage: batch.storage, layout: record?.layout ?? TreeLayout(tree: 0))
        let plan = WritePlan(on: base, indexes: record?.indexes ?? [], kind.configuration, version: version)
        for expectation in request.expectations where try !isMet(expectation, in: plan) {
            request.onStale(expectation.path)
            return try refuse(.stale)
        }
        let valid = early.flatMap { isValid($0) ? $0 : nil }
        if let valid, valid.isChecked {
            if let failure = valid.failure { return try refuse(failure) }
            if valid.isStale { return try refuse(.stale) }
        }
        let check = valid?.isChecked == true ? nil : request.check
        // Others would wait for what the writes change, only for readers to decide again.
        guard check == nil || request.checkCost() <= maxCheckCost else { throw DecisionTooCostly() }
        try plan.apply(request.writes)
        if let check {
            do {
                try plan.check(check, maxCost: maxCheckCost)
            } catch let failure as RealtimeFailure {
                return try refuse(failure)
            }
        }
        // After the check: a client that may not write learns nothing of what exists, nor is it hashed for it.
        if let valid {
            if valid.isStale { return try refuse(.stale) }
        } else {
            do {
                try plan.compareHashes(
                    request.writes, within: early == nil ? kind.configuration.limits : kind.configuration.writerLimits)
            } catch let failure as RealtimeFailure where failure.isBeyondLimits && early != nil {
                return try refuse(.stale)
            }
            if plan.isStale { return try refuse(.stale) }
        }
        if let limit = request.maxRows, plan.changes.count > limit {
            return try refuse(RealtimeFailure(.tooManyRows, "the write changes more than \(limit) rows, its limit"))
        }
        if let triggers {
            do {
                caused = try plan.events(by: triggers, in: request)
            } catch let failure as RealtimeFailure where failure.code == .triggerLimit {
                return try refuse(failure)
            }
        }
        return plan
    }

    private func isMet(_ expectation: RealtimeExpectation, in plan: WritePlan) throws -> Bool {
        // What a query looks at is all there.
        let notes = ReadNotes()
        notes.add(TreeKey.subtree(TreeKey.of(expectation.path)), pathsOnly: false)
        guard kind.recent.mayHaveChanged(notes, in: request.namespace, after: expectation.version) else { return true }
        return try plan.isUnchanged(expectation, within: kind.configuration.writerLimits)
    }

    private func isValid(_ early: EarlyDecision) -> Bool {
        early.generation == request.checkGeneration()
            && !kind.recent.mayHaveChanged(early.notes, in: request.namespace, after: early.version)
    }

    /// - Returns: nil if the commit removes a registration nevertheless.
    private func refuse(_ failure: RealtimeFailure) throws -> WritePlan? {
        guard request.registration != nil else { throw failure }
        self.failure = failure
        return nil
    }

    package func events(by routes: EventRoutes) -> [CausedEvent] { caused }

    package func apply(version: Int64, in batch: CommitBatch, to storage: any StorageWriter) throws {
        if let registration = request.registration {
            var editor = try DisconnectEditor(registration.session, in: registration.namespace, on: storage)
            try editor.remove(registration)
            try editor.finish()
        }
        guard let plan, !plan.changes.isEmpty else {
            result = RealtimeCommitted(version: batch.versions.applied, changes: [], written: plan?.written ?? [])
            return
        }
        let before = try kind.store(plan.changes, of: request.namespace, in: storage)
        batch.add(bytes: plan.changes.bytes)
        batch.versions.claim(version)
        kind.note(plan.changes, plan.applied, in: request.namespace, version: version, before: before)
        result = RealtimeCommitted(version: version, changes: plan.applied, written: plan.written)
    }
}

/// Changes the Realtime Database in a commit of its own.
final class RealtimeCommitJob: CommitJob {
    let attempt: CommitAttempt
    let early: EarlyDecision?

    init(_ attempt: CommitAttempt, early: EarlyDecision?) {
        self.attempt = attempt
        self.early = early
    }

    private var request: RealtimeCommit { attempt.request }
    private var completion: @Sendable (Result<RealtimeCommitted, RealtimeFailure>) -> Void { attempt.completion }
    private var kind: RealtimeRows { attempt.store.rows }

    func run(in batch: CommitBatch) throws {
        guard !attempt.waits(with: early) else { return }
        let part = RealtimeCommitPart(request, early: early, maxCheckCost: attempt.maxWriterCost, of: kind)
        let outcome = try batch.run(Commit([part], in: attempt.context))
        if part.isUndecided, let again = attempt.returned() {
            // Readers see the change once the batch is durable.
            return batch.whenDurable { error in
                if let error { again.fail(RealtimeFailure(from: error)) } else { again.decide() }
            }
        }
        attempt.finishTurn()
        kind.answer(in: batch) { error in self.answer(error, outcome, part) }
    }

    private func answer(
        _ error: DocumentError?, _ outcome: CommitOutcome, _ part: RealtimeCommitPart
    ) -> HubAnswer {
        let result: Result<RealtimeCommitted, RealtimeFailure> =
            if let error {
                .failure(RealtimeFailure(from: error))
            } else if let failure = part.failure {
                .failure(failure)
            } else if let result = part.result {
                .success(result)
            } else if case .refused(let error) = outcome {
                .failure(RealtimeFailure(from: error))
            } else {
                .failure(RealtimeFailure(.internal, "a commit of the tree had no result"))
            }
        guard let client = request.client, let target = request.conditionalTarget else {
            if request.isAnsweredAtOnce(), kind.hub.letsAnswersOvertake {
                return .atOnce { [completion] in completion(result) }
            }
            return .inOrder(.completion(at: nil) { [completion] in completion(result) })
        }
        let place = StaleTurns.Place(namespace: request.namespace, target: target)
        var stale: StaleTurns.Place?
        if case .failure(.stale) = result { stale = place }
        if request.isAnsweredAtOnce(), kind.hub.letsDecisionsOvertake {
            return .atOnce { [completion, hub = kind.hub] in
                hub.decide([place], stale: stale, of: client) { completion(result) }
            }
        }
        return .inOrder(.decision([place], stale: stale, client: client) { [completion] in completion(result) })
    }

    func fail(_ error: DocumentError) { attempt.fail(RealtimeFailure(from: error)) }
}
