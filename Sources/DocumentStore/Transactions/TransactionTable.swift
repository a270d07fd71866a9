import DocumentModel

/// All open transactions, those that ended lately, the tickets of aborted ones, and the changes for validating them.
/// Guarded by the store's lock.
struct TransactionTable: Sendable {
    /// How a transaction's read is to be done.
    enum ReadDecision: Hashable {
        /// On the snapshot's own state.
        case current
        /// On the snapshot, in its state at a version.
        case past(Int64)
        /// By the writer: the transaction has seen what this snapshot does not hold yet.
        case later
    }

    private(set) var changes: RecentChanges
    private var open: [TransactionID: OpenTransaction] = [:]
    private var openByOwner: [UInt64: Set<TransactionID>] = [:]
    private var expiry = ExpiryBuckets()
    private var openReadOnly = 0
    private var openOfClients = 0
    private var noted = NotedReads()
    private var tickets = RetryTickets()
    private var ended = EndedTransactions()
    /// Kept separately, so that clients' transactions don't evict those of functions and servers.
    private var endedOfClients = EndedTransactions()
    private var hot: HotDocuments
    /// The bytes of changes since it was looked which of them are needed.
    private var addedBytes = 0
    private let configuration: StoreConfiguration

    init(version: Int64, configuration: StoreConfiguration) {
        self.configuration = configuration
        hot = HotDocuments(time: configuration.hotTime)
        changes = RecentChanges(
            floor: version, maxCount: configuration.maxRecentChanges, maxBytes: configuration.maxRecentBytes)
    }

    var openCount: Int { open.count }

    /// An id that can't be guessed, because a client that knows it may commit.
    static func makeID() -> TransactionID { TransactionID(rawValue: .random(in: 1 ... .max)) }

    /// - Parameters:
    ///   - version: the version that a read-only transaction sees; nil for the state of its first read.
    ///   - retried: the aborted transaction that it is another attempt of.
    /// - Throws: `resourceExhausted` if too many are open.
    mutating func begin(
        _ id: TransactionID = makeID(), isReadOnly: Bool, seeing version: Int64? = nil,
        retrying retried: TransactionID? = nil, context: OperationContext, at now: Duration
    ) throws(DocumentError) -> TransactionID {
        if refusal(of: context) != nil { expire(at: now) }
        if let refusal = refusal(of: context) { throw refusal }
        var transaction = OpenTransaction(
            id: id, owner: context.owner, isClient: context.policy != nil, isReadOnly: isReadOnly, retried: retried,
            completion: context.completion, version: version, begun: now, used: now)
        transaction.due = dueSecond(of: transaction)
        transaction.hasTakenTurn = retried != nil
        expiry.insert(id, at: transaction.due)
        if let owner = context.owner { openByOwner[owner, default: []].insert(id) }
        if isReadOnly { openReadOnly += 1 }
        if transaction.isClient { openOfClients += 1 }
        open[id] = transaction
        return id
    }

    /// Why an owner can't begin another transaction; nil if it can.
    ///
    /// Clients together have half of the places, so that functions always find some; the fewer are left of these, the
    /// fewer may one client have.
    private func refusal(of context: OperationContext) -> DocumentError? {
        guard open.count < configuration.maxTransactions else {
            return DocumentError(.resourceExhausted, "too many transactions are open; retry later")
        }
        guard context.policy != nil else { return nil }
        let free = configuration.maxTransactions / 2 - openOfClients
        guard free > 0 else {
            return DocumentError(.resourceExhausted, "clients have too many transactions open together; retry later")
        }
        guard let owner = context.owner else { return nil }
        let own = openByOwner[owner]?.count ?? 0
        let limit = min(configuration.maxTransactionsPerClient, max((free + own) / 100, 1))
        guard own >= limit else { return nil }
        return DocumentError(
            .resourceExhausted, "a client may have \(limit) transactions open at the moment, the limit; end one")
    }

    /// Records a read before it is done.
    ///
    /// - Parameters:
    ///   - reads: what is read; nil if it is recorded later, once the policy has allowed the read.
    ///   - snapshot: the version of the state that would be read.
    ///   - isPatient: whether a transaction that read something that has changed since reads on, in its own state, until its
    ///     commit is aborted.
    /// - Throws: `aborted` if something that the transaction read has changed since; the transaction has ended then.
    mutating func read(
        _ id: TransactionID, owner: UInt64?, _ reads: ReadSet?, snapshot: Int64, isPatient: Bool = false,
        at now: Duration
    ) throws(DocumentError) -> ReadDecision {
        var transaction = try find(id, owner: owner, at: now)
        transaction.used = now
        if let version = transaction.version, version > snapshot {
            open[id]?.used = now
            return .later
        }
        if transaction.isReadOnly {
            let version = transaction.version ?? snapshot
            transaction.version = version
            open[id] = transaction
            return version == snapshot ? .current : .past(version)
        }
        guard let reads else {
            open[id]?.used = now
            return .current
        }
        if refusal(of: reads, by: transaction) != nil {
            expire(at: now)
            // `expire` may have changed when its expiry is checked next.
            transaction.due = open[id]?.due ?? transaction.due
            if let refusal = refusal(of: reads, by: transaction) { throw refusal }
        }
        // Removed first, so that the read set isn't copied while it grows.
        open[id] = nil
        let reason = transaction.version.map { $0 < snapshot } ?? false ? conflict(of: transaction) : nil
        noted.note(-transaction.reads.weight, with: transaction)
        transaction.reads.formUnion(reads)
        if let reason {
            if isPatient, let version = transaction.version {
                noted.note(transaction.reads.weight, with: transaction)
                open[id] = transaction
                return .past(version)
            }
            noteConflict(of: transaction, at: now)
            forget(transaction)
            issueTicket(for: transaction, at: now)
            throw reason
        }
        noted.note(transaction.reads.weight, with: transaction)
        transaction.version = snapshot
        open[id] = transaction
        return .current
    }

    /// Whether it is soon seen if the results of a transaction's queries have changed up to a version.
    func isSeenSoon(_ id: TransactionID, at snapshot: Int64) -> Bool {
        guard let transaction = open[id], let version = transaction.version, version < snapshot else { return true }
        var steps = Self.fewSteps
        return transaction.reads.queries.values.allSatisfy {
            changes.hasChanged($0, after: version, within: &steps) != nil
        }
    }

    private static let fewSteps = 256

    /// Ends a transaction.
    ///
    /// - Throws: `invalidArgument` if the owner has no transaction of this id.
    mutating func end(_ id: TransactionID, owner: UInt64?, at now: Duration) throws(DocumentError) -> OpenTransaction {
        let transaction = try find(id, owner: owner, at: now)
        remove(transaction)
        return transaction
    }

    /// Ends a transaction for its client, which may still retry it.
    ///
    /// - Returns: nil if it had ended before, in whichever way; if it has a turn then, its retry keeps that.
    /// - Throws: `invalidArgument` if the owner has never had a transaction of this id, or not lately.
    mutating func rollBack(
        _ id: TransactionID, owner: UInt64?, at now: Duration
    ) throws(DocumentError) -> OpenTransaction? {
        do throws(DocumentError) {
            let transaction = try end(id, owner: owner, at: now)
            issueTicket(for: transaction, at: now)
            return transaction
        } catch {
            // Among these are transactions that have expired just now.
            let hasEnded =
                ended.contains(id, owner: owner) || endedOfClients.contains(id, owner: owner)
                || tickets.contains(id, owner: owner)
            guard hasEnded else { throw error }
            return nil
        }
    }

    /// Ends a transaction if it is open.
    mutating func drop(_ id: TransactionID, owner: UInt64?) {
        guard let transaction = open[id], transaction.owner == owner else { return }
        remove(transaction)
    }

    /// Why a transaction can't commit; nil if it can.
    func conflict(of transaction: OpenTransaction) -> DocumentError? {
        guard let version = transaction.version else { return nil }
        guard version >= changes.floor else { return Self.tooOld }
        if let path = changes.changed(among: transaction.reads.documents, after: version) {
            return DocumentError(
                .aborted, "document \"\(path)\" was changed by another client; try the transaction again")
        }
        var steps = configuration.maxValidationSteps
        for query in transaction.reads.queries.values {
            guard let hasChanged = changes.hasChanged(query, after: version, within: &steps) else {
                return Self.tooMuch
            }
            guard hasChanged else { continue }
            return DocumentError(
                .aborted,
                "the result of a query on \"\(query.collection)\" was changed by another client; "
                    + "try the transaction again")
        }
        return nil
    }

    // MARK: Hot documents

    /// The documents for which a function's transaction waits before it reads them: those that are hot, if it has no turn
    /// and hasn't waited yet. So it holds nothing that another one waits for.
    mutating func turnAhead(
        _ id: TransactionID, reading paths: [DocumentPath], _ context: OperationContext, at now: Duration
    ) -> Set<DocumentPath> {
        guard !hot.isEmpty, context.policy == nil, !context.retriesCommitsOnly, let transaction = open[id],
            !transaction.isReadOnly, !transaction.hasTakenTurn, transaction.owner == context.owner
        else { return [] }
        let ahead = hot.hot(among: paths.lazy.filter { !transaction.reads.documents.contains($0) }, at: now)
        if !ahead.isEmpty { open[id]?.hasTakenTurn = true }
        return ahead
    }

    /// Transactions wait for a document: it stays hot.
    mutating func noteWait(for paths: Set<DocumentPath>, at now: Duration) {
        for path in paths { hot.note(path, at: now) }
    }

    /// What a transaction has read has changed.
    mutating func noteConflict(of transaction: OpenTransaction, at now: Duration) {
        guard !transaction.isClient, let version = transaction.version, version >= changes.floor,
            let path = changes.changed(among: transaction.reads.documents, after: version)
        else { return }
        hot.note(path, at: now)
    }

    /// Whether a transaction may write, and nothing that it has read has changed since.
    func isCurrent(_ id: TransactionID, owner: UInt64?) -> Bool {
        guard let transaction = open[id], transaction.owner == owner, !transaction.isReadOnly, !transaction.isLost
        else { return false }
        return conflict(of: transaction) == nil
    }

    /// Whether nothing has changed that a decision depends on.
    func isCurrent(_ decision: CommitDecision) -> Bool {
        decision.version >= changes.floor && changes.changed(among: decision.reads, after: decision.version) == nil
    }

    /// Records a prefetch, which is current at a version.
    mutating func prefetched(_ id: TransactionID, _ reads: ReadSet, version: Int64) {
        guard let transaction = open[id] else { return }
        noted.note(reads.weight - transaction.reads.weight, with: transaction)
        open[id]?.reads = reads
        open[id]?.version = version
    }

    /// The oldest version that an open read-only transaction sees.
    var oldestRead: Int64? {
        guard openReadOnly > 0 else { return nil }
        return open.values.lazy.filter(\.isReadOnly).compactMap(\.version).min()
    }

    mutating func issueTicket(for transaction: OpenTransaction, at now: Duration) {
        // Clients' transactions are retried without a turn.
        guard !transaction.isClient else { return }
        // A transaction with very many reads would make too many others wait: it is retried without a turn.
        guard transaction.reads.count <= configuration.maxTurnReads else { return }
        tickets.issue(
            RetryTicket(
                transaction: transaction.id, alias: transaction.retried, reads: transaction.reads,
                owner: transaction.owner, issued: now),
            limit: configuration.maxTickets)
    }

    /// Takes the ticket of an aborted transaction, which can be taken once.
    mutating func takeTicket(_ id: TransactionID, owner: UInt64?, at now: Duration) -> RetryTicket? {
        guard let ticket = tickets.take(id, owner: owner) else { return nil }
        return now - ticket.issued <= configuration.ticketLifetime ? ticket : nil
    }

    /// Ends all of an owner's transactions and forgets its tickets.
    mutating func release(owner: UInt64) -> [TransactionID] {
        let ended = Array(openByOwner[owner] ?? [])
        for id in ended {
            if let transaction = open[id] { remove(transaction) }
        }
        return ended + tickets.release(owner: owner)
    }

    /// Removes expired transactions and tickets.
    mutating func expire(at now: Duration) {
        for id in expiry.due(at: now.components.seconds) {
            guard var transaction = open[id] else { continue }
            if isExpired(transaction, at: now) {
                remove(transaction)
            } else {
                transaction.due = dueSecond(of: transaction)
                expiry.insert(id, at: transaction.due)
                open[id] = transaction
            }
        }
        tickets.expire(issuedBefore: now - configuration.ticketLifetime)
    }

    mutating func applied(_ entries: [RecentChanges.Entry]) {
        changes.append(entries)
        addedBytes += entries.reduce(0) { $0 + $1.heldBytes }
        // Not for each change, since all open transactions are looked at.
        guard addedBytes > configuration.maxUnneededBytes / 8, changes.bytes > configuration.maxUnneededBytes else {
            return
        }
        addedBytes = 0
        forgetUnneeded()
    }

    /// Forgets changes that no open transaction needs: more than have come since the last time, but not all at once.
    private mutating func forgetUnneeded() {
        guard let newest = changes.newest else { return }
        let time = Int64(configuration.recentTime / .microseconds(1))
        let oldest = open.values.lazy.compactMap(\.version).min() ?? .max
        let most = max(configuration.maxUnneededBytes, changes.bytes - configuration.maxUnneededBytes / 2)
        changes.forget(upTo: min(oldest, newest - time), beyond: most)
    }

    /// Undoes the changes after a version; transactions that read them can't commit.
    mutating func rollBack(to version: Int64) {
        changes.rollBack(to: version)
        for (id, transaction) in open where transaction.version ?? version > version { open[id]?.isLost = true }
    }

    private mutating func find(
        _ id: TransactionID, owner: UInt64?, at now: Duration
    ) throws(DocumentError) -> OpenTransaction {
        guard let transaction = open[id], transaction.owner == owner else { throw Self.unknown }
        guard !isExpired(transaction, at: now) else {
            remove(transaction)
            throw Self.unknown
        }
        guard !transaction.isLost else {
            remove(transaction)
            issueTicket(for: transaction, at: now)
            throw DocumentError(.aborted, "what the transaction read was not kept; try the transaction again")
        }
        return transaction
    }

    /// Why reads can't be recorded: the transaction, its client or all transactions together would exceed a limit.
    private func refusal(of reads: ReadSet, by transaction: OpenTransaction) -> DocumentError? {
        guard transaction.reads.count + reads.count <= configuration.maxTransactionReads else {
            return DocumentError(
                .resourceExhausted,
                "a transaction may read \(configuration.maxTransactionReads) documents and queries, the limit")
        }
        if transaction.reads.queries.count + reads.queries.count > configuration.maxTransactionQueries,
            transaction.reads.queryCount(with: reads) > configuration.maxTransactionQueries
        {
            return DocumentError(
                .resourceExhausted,
                "a transaction may run \(configuration.maxTransactionQueries) different queries, the limit")
        }
        return noted.refusal(of: reads.weight, by: transaction, configuration)
    }

    private mutating func remove(_ transaction: OpenTransaction) {
        open[transaction.id] = nil
        noted.note(-transaction.reads.weight, with: transaction)
        forget(transaction)
    }

    /// Removes the transaction from the table's lookups, and notes that it has ended.
    private mutating func forget(_ transaction: OpenTransaction) {
        let limit = configuration.maxTickets
        if transaction.isClient {
            endedOfClients.note(transaction.id, owner: transaction.owner, limit: limit)
        } else {
            ended.note(transaction.id, owner: transaction.owner, limit: limit)
        }
        expiry.remove(transaction.id, at: transaction.due)
        if transaction.isReadOnly { openReadOnly -= 1 }
        if transaction.isClient { openOfClients -= 1 }
        guard let owner = transaction.owner else { return }
        openByOwner[owner]?.remove(transaction.id)
        if openByOwner[owner]?.isEmpty ?? false { openByOwner[owner] = nil }
    }

    private func isExpired(_ transaction: OpenTransaction, at now: Duration) -> Bool {
        now - transaction.begun > configuration.transactionLifetime
            || now - transaction.used > configuration.transactionIdle
    }

    /// The first second at which it has expired if it isn't used until then.
    private func dueSecond(of transaction: OpenTransaction) -> Int64 {
        let end = min(
            transaction.begun + configuration.transactionLifetime, transaction.used + configuration.transactionIdle)
        return end.components.seconds + 1
    }

    private static let unknown = DocumentError.invalidArgument(
        "The referenced transaction has expired or is no longer valid.")
    private static let tooMuch = DocumentError(
        .aborted, "too much was changed since the transaction's queries to compare it all; try the transaction again")
    static let tooOld = DocumentError(
        .aborted, "the transaction is older than the changes that the store remembers; try the transaction again")
}
