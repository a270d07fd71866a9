import DocumentModel
import TestSupport
import WorkerProtocol

/// An open transaction as the model follows it.
struct ModelTransaction: Sendable {
    var id: TransactionID
    var isReadOnly: Bool
    /// The state that its reads see; nil before the first.
    var time: Timestamp?
    var reads: [ModelRead] = []
    /// What the try before had read: the store minds it from the time of the new try, even where that asks for less.
    var earlier: (reads: [ModelRead.What], time: Timestamp)?
    var begun: Duration
    var used: Duration

    /// Whether its reads are not what they would be now: it must not go on.
    func isOutdated(in state: ModelState) -> Bool {
        reads.contains { !$0.what.answer(in: state).isSame(as: $0.answer) }
    }

    /// Whether something was changed since that its reads may have seen: it may be aborted.
    func mayBeAborted(in model: StoreModel) -> Bool {
        guard let since = [time, earlier?.time].compactMap({ $0 }).min() else { return false }
        let minded = reads.map(\.what) + (earlier?.reads ?? [])
        var earlier = model.state(at: since) ?? ModelState()
        for next in model.times where next > since {
            guard let state = model.state(at: next) else { continue }
            let changes = state.changes(since: earlier)
            if minded.contains(where: { what in changes.contains(where: what.concerns) }) { return true }
            earlier = state
        }
        return false
    }
}

extension ModelRun {
    mutating func begin(_ slot: Int, _ readOnly: Step.ReadOnly?) async throws {
        guard slots[slot] == nil else { return }
        var past: Timestamp?
        if case .at(let moment) = readOnly { past = time(moment) }
        let mode: TransactionMode = readOnly == nil ? .readWrite(retrying: nil) : .readOnly(at: past)
        let answer = try await ask(.begin(mode))
        if let past {
            guard try isKnown(past, answer) else { return }
            final = max(final, past)
        }
        guard case .began(let id, let prefetched) = answer else { throw unexpected(answer) }
        try expect(prefetched.isEmpty, "a first attempt was given \(prefetched)")
        let time = tested.clock.elapsed()
        slots[slot] = ModelTransaction(id: id, isReadOnly: readOnly != nil, time: past, begun: time, used: time)
        aborted[slot] = nil
    }

    /// Only one at a time has its turn, for another would wait for it until its time is over.
    mutating func retry(_ slot: Int) async throws {
        guard let old = aborted[slot], slots[slot] == nil else { return }
        let id = old.id
        if let turn, turn.id != id, tested.clock.elapsed() - turn.since <= .seconds(2) { return }
        aborted[slot] = nil
        let answer = try await ask(.begin(.readWrite(retrying: id)))
        guard case .began(let next, let prefetched) = answer else { throw unexpected(answer) }
        let time = tested.clock.elapsed()
        var transaction = ModelTransaction(id: next, isReadOnly: false, begun: time, used: time)
        transaction.earlier = (old.reads.map(\.what) + (old.earlier?.reads ?? []), model.time)
        for read in prefetched {
            let known =
                switch read {
                case .document(let path, let document):
                    ModelRead(what: .documents([path]), answer: .documents([document]))
                case .query(let query, let documents): ModelRead(what: .query(query), answer: .results(documents))
                }
            let expected = known.what.answer(in: model.current)
            try expect(known.answer.isSame(as: expected), "prefetched \(known), not \(expected)")
            transaction.reads.append(known)
            transaction.time = model.time
        }
        slots[slot] = transaction
        turn = (next, time)
    }

    mutating func rollback(_ slot: Int) async throws {
        guard let transaction = slots[slot] else { return }
        let answer = try await ask(.rollback(transaction.id))
        end(slot)
        try expect(answer == .rolledBack, "rolling back answers \(answer)")
    }

    mutating func read(_ what: ModelRead.What, _ slot: Int, _ transaction: ModelTransaction) async throws {
        let answer = try await ask(what.request(.transaction(transaction.id)))
        if isExpired(transaction) {
            end(slot)
            return try expect(answer.code == .invalidArgument, "an expired transaction reads \(answer)")
        }
        if answer.code == .aborted { return try abort(slot, transaction, isForced: false) }
        var transaction = transaction
        var state = model.current
        if transaction.isReadOnly, let time = transaction.time { state = model.state(at: time) ?? ModelState() }
        if !transaction.isReadOnly {
            try expect(!transaction.isOutdated(in: state), "what was read has changed, and \(what) was answered")
        }
        let time = try check(answer, what, in: state)
        if let own = transaction.time, transaction.isReadOnly {
            try expect(time == own, "a read-only transaction of \(own) reads at \(time)")
        } else {
            try expect(time >= model.time, "a transaction reads at \(time) after \(model.time)")
            final = max(final, time)
            transaction.time = time
        }
        if !transaction.isReadOnly { transaction.reads.append(ModelRead(what: what, answer: what.answer(in: state))) }
        transaction.used = tested.clock.elapsed()
        slots[slot] = transaction
    }

    mutating func commit(_ writes: [Write], _ slot: Int, _ transaction: ModelTransaction) async throws {
        let answer = try await ask(
            .commit(writes, transaction: transaction.id, completing: nil))
        let anotherHasItsTurn = turn.map { $0.id != transaction.id } ?? false
        if isExpired(transaction) {
            end(slot)
            return try expect(answer.code == .invalidArgument, "an expired transaction commits \(answer)")
        }
        if answer.code == .aborted { return try abort(slot, transaction, isForced: anotherHasItsTurn) }
        end(slot)
        guard !writes.isEmpty else {
            guard case .committed = answer else { throw unexpected(answer) }
            return
        }
        if transaction.isReadOnly {
            return try expect(answer.code == .invalidArgument, "a read-only transaction wrote: \(answer)")
        }
        try expect(!transaction.isOutdated(in: model.current), "what was read has changed, and it committed \(answer)")
        try accept(answer, of: writes)
    }

    private mutating func abort(_ slot: Int, _ transaction: ModelTransaction, isForced: Bool) throws {
        try expect(
            isForced || transaction.mayBeAborted(in: model), "aborted, though nothing that it read was changed")
        slots[slot] = nil
        aborted[slot] = transaction
    }

    private mutating func end(_ slot: Int) {
        if let turn, turn.id == slots[slot]?.id { self.turn = nil }
        slots[slot] = nil
    }

    private func isExpired(_ transaction: ModelTransaction) -> Bool {
        let now = tested.clock.elapsed()
        return now - transaction.begun > .seconds(270) || now - transaction.used > .seconds(60)
    }
}

extension DocumentResponse {
    /// The code with which it fails; nil if it doesn't.
    var code: StatusCode? {
        if case .failed(let error) = self { error.code } else { nil }
    }
}
