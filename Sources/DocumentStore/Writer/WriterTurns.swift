import DocumentModel

/// The turns that the writer grants: which transactions wait, which have a turn, and until when.
struct WriterTurns {
    /// A begin that is answered when its turn comes.
    struct Waiter {
        var begin: RetryBegin
        /// The last attempt, which the client need not have named.
        var aborted: TransactionID
        var reads: ReadSet
        /// The end of the turn that it continues.
        var deadline: Duration?
    }

    /// A read of hot documents that is done when its transaction's turn comes, and at the latest at a deadline.
    private struct WaitingRead {
        var read: TurnRead
        var deadline: Duration
    }

    private struct Turn {
        let owner: UInt64?
        let reads: ReadSet
        let queries: [TurnKey: [NormalizedQuery]]
        let deadline: Duration

        init(owner: UInt64?, reads: ReadSet, deadline: Duration) {
            self.owner = owner
            self.reads = reads
            queries = reads.queriesByPlace
            self.deadline = deadline
        }
    }

    private var queue = TurnQueue()
    private var waiters: [TransactionID: Waiter] = [:]
    private var reads: [TransactionID: WaitingRead] = [:]
    private var turns: [TransactionID: Turn] = [:]
    /// Granted, but not answered yet.
    private var granted: [TransactionID] = []
    /// Reads that have waited long enough.
    private var overdue: [TurnRead] = []
    /// Answered in the open batch, and without an operation since.
    private var fresh: Set<TransactionID> = []

    var awaitsNews: Bool { !fresh.isEmpty }

    mutating func startGroup() { fresh = [] }

    func hasTurn(_ id: TransactionID) -> Bool { turns[id] != nil }

    /// How long the writer may sleep; nil for as long as there are no jobs.
    func timeout(at now: Duration) -> Duration? {
        // Left over from a batch that failed.
        guard granted.isEmpty, overdue.isEmpty else { return .milliseconds(100) }
        let deadlines = [turns.values.map(\.deadline).min(), reads.values.map(\.deadline).min()]
        guard let first = deadlines.compactMap(\.self).min() else { return nil }
        return max(first - now, .milliseconds(1))
    }

    /// If the aborted transaction still has its turn, the retry continues it.
    mutating func join(_ waiter: Waiter) {
        let id = TransactionTable.makeID()
        let retrying = waiter.aborted
        var waiter = waiter
        fresh.remove(retrying)
        if let turn = turns.removeValue(forKey: retrying) { waiter.deadline = turn.deadline }
        waiters[id] = waiter
        perform(queue.continue(retrying, as: id, keys: waiter.reads.turnKeys))
    }

    /// A transaction that holds no turn waits for one on the hot documents that it reads.
    mutating func join(_ read: TurnRead, until deadline: Duration) {
        guard reads[read.transaction] == nil else { return overdue.append(read) }
        reads[read.transaction] = WaitingRead(read: read, deadline: deadline)
        perform(queue.join(read.transaction, keys: Set(read.hot.map(TurnKey.document))))
    }

    /// What may go on now.
    enum Granted {
        case begin(TransactionID, Waiter)
        case read(TurnRead)
        /// Without a turn.
        case overdueRead(TurnRead)
    }

    mutating func nextGranted() -> Granted? {
        while !granted.isEmpty {
            let id = granted.removeFirst()
            if let waiter = waiters.removeValue(forKey: id) { return .begin(id, waiter) }
            if let waiting = reads.removeValue(forKey: id) { return .read(waiting.read) }
        }
        return overdue.isEmpty ? nil : .overdueRead(overdue.removeFirst())
    }

    mutating func started(_ read: TurnRead, until deadline: Duration) {
        turns[read.transaction] = Turn(
            owner: read.read.context.owner, reads: ReadSet(documents: read.hot), deadline: deadline)
        if read.isShort { fresh.insert(read.transaction) }
    }

    /// - Parameter isAnswered: false if the answer waits for the end of the batch.
    mutating func started(_ id: TransactionID, _ waiter: Waiter, until deadline: Duration, isAnswered: Bool) {
        turns[id] = Turn(owner: waiter.begin.context.owner, reads: waiter.reads, deadline: deadline)
        if isAnswered { fresh.insert(id) }
    }

    mutating func leave(_ id: TransactionID) {
        turns[id] = nil
        fresh.remove(id)
        // It fails by itself: its transaction has ended.
        if let waiting = reads.removeValue(forKey: id) { overdue.append(waiting.read) }
        perform(queue.leave(id))
    }

    /// Ends turns whose time limit has passed, and waits that have been too long. Their transactions continue without a turn.
    mutating func expire(at now: Duration) {
        for id in turns.filter({ $0.value.deadline <= now }).keys { leave(id) }
        for id in reads.filter({ $0.value.deadline <= now }).keys { leave(id) }
    }

    /// An owner is gone: refuses its waiting begins and frees its turns.
    mutating func release(owner: UInt64, _ ended: [TransactionID]) {
        for (id, waiter) in waiters where waiter.begin.context.owner == owner {
            waiters[id] = nil
            leave(id)
            waiter.begin.fail(DocumentError(.cancelled, "the client of the transaction is gone"))
        }
        for (id, waiting) in reads where waiting.read.read.context.owner == owner { leave(id) }
        for (id, turn) in turns where turn.owner == owner { leave(id) }
        for id in ended { leave(id) }
    }

    mutating func refuseAll(_ error: DocumentError) {
        for waiter in waiters.values { waiter.begin.fail(error) }
        for read in reads.values.map(\.read) + overdue { read.fail(error) }
        self = WriterTurns()
    }

    /// Whether a transaction's changes would conflict with the reads of another that has its turn.
    ///
    /// Only changes to what the transaction itself has read are blocked: writes that depend on no read pass.
    func blocks(_ changes: [DocumentChange], of transaction: OpenTransaction) -> Bool {
        guard !turns.isEmpty else { return false }
        let queries = transaction.reads.queriesByPlace
        return changes.contains { change in
            let keys = change.path.queryKeys
            if transaction.reads.documents.contains(change.path) {
                let turn = turn(on: .document(change.path), besides: transaction)
                if turn?.reads.documents.contains(change.path) ?? false { return true }
            } else {
                let wasRead = keys.contains { queries[$0]?.contains { $0.covers(change.path) } ?? false }
                guard wasRead else { return false }
            }
            return keys.contains { key in
                let turn = turn(on: key, besides: transaction)
                return turn?.queries[key]?.contains { $0.isChanged(by: change) } ?? false
            }
        }
    }

    /// The turn on a key, which at most one transaction has, unless it is the transaction's own.
    private func turn(on key: TurnKey, besides transaction: OpenTransaction) -> Turn? {
        guard let holder = queue.holder(of: key), holder != transaction.id else { return nil }
        return turns[holder]
    }

    private mutating func perform(_ actions: [TurnQueue.Action]) {
        for case .grant(let id) in actions { granted.append(id) }
    }
}
