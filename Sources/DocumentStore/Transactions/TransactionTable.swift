import DocumentModel

/// All open transactions, the tickets of aborted ones and what they are validated against. Guarded by the store's lock.
struct TransactionTable: Sendable {
    /// How a transaction's read is to be done.
    enum ReadDecision {
        /// On the snapshot as it is.
        case current
        /// On the snapshot with these documents as they were.
        case past([DocumentPath: Document?])
        /// By the writer: the transaction has seen what this snapshot does not hold yet.
        case later
    }

    private(set) var changes: RecentChanges
    private var open: [TransactionID: OpenTransaction] = [:]
    private var tickets: [TransactionID: RetryTicket] = [:]
    /// Tickets by age; those that were used are passed over.
    private var ticketAges: [TransactionID] = []
    private let configuration: StoreConfiguration

    init(version: Int64, configuration: StoreConfiguration) {
        self.configuration = configuration
        changes = RecentChanges(
            floor: version, maxCount: configuration.maxRecentChanges, maxBytes: configuration.maxRecentBytes)
    }

    var openCount: Int { open.count }

    /// An id that can't be guessed: whoever knows it may commit.
    static func makeID() -> TransactionID { TransactionID(rawValue: .random(in: 1 ... .max)) }

    /// - Throws: `resourceExhausted` where too many are open.
    mutating func begin(
        _ id: TransactionID = makeID(), isReadOnly: Bool, context: OperationContext, at now: Duration
    ) throws(DocumentError) -> TransactionID {
        if open.count >= configuration.maxTransactions { expire(at: now) }
        guard open.count < configuration.maxTransactions else {
            throw DocumentError(.resourceExhausted, "too many transactions are open; try again later")
        }
        if context.policy != nil, let owner = context.owner {
            guard open.values.count(where: { $0.owner == owner }) < configuration.maxTransactionsPerClient else {
                throw DocumentError(
                    .resourceExhausted,
                    "a client may have \(configuration.maxTransactionsPerClient) transactions open, the limit; end one")
            }
        }
        open[id] = OpenTransaction(
            id: id, owner: context.owner, isReadOnly: isReadOnly, completion: context.completion, begun: now,
            used: now)
        return id
    }

    /// Notes a read before it is done.
    ///
    /// - Parameter snapshot: the version of what would be read.
    /// - Throws: `aborted` where what was read before has changed since; the transaction is over then.
    mutating func read(
        _ id: TransactionID, owner: UInt64?, _ reads: ReadSet, snapshot: Int64, at now: Duration
    ) throws(DocumentError) -> ReadDecision {
        var transaction = try find(id, owner: owner, at: now)
        transaction.used = now
        guard let version = transaction.version else {
            transaction.version = snapshot
            transaction.reads = reads
            open[id] = transaction
            return .current
        }
        guard version <= snapshot else {
            open[id]?.used = now
            return .later
        }
        if transaction.isReadOnly {
            open[id]?.used = now
            guard version >= changes.floor else {
                open[id] = nil
                throw Self.tooOld
            }
            return version == snapshot ? .current : .past(changes.past(at: version, upTo: snapshot))
        }
        // Taken out, so that the read set is not copied while it grows.
        open[id] = nil
        let reason = version < snapshot ? conflict(of: transaction) : nil
        transaction.reads.formUnion(reads)
        if let reason {
            issueTicket(for: transaction, at: now)
            throw reason
        }
        transaction.version = snapshot
        open[id] = transaction
        return .current
    }

    /// The version that a transaction's reads have; nil where it has none or is over.
    func version(of id: TransactionID) -> Int64? { open[id]?.version }

    /// Ends a transaction.
    ///
    /// - Throws: `invalidArgument` where there is none of that id and owner.
    mutating func end(_ id: TransactionID, owner: UInt64?, at now: Duration) throws(DocumentError) -> OpenTransaction {
        let transaction = try find(id, owner: owner, at: now)
        open[id] = nil
        return transaction
    }

    /// Why a transaction can't commit; nil where it can.
    func conflict(of transaction: OpenTransaction) -> DocumentError? {
        guard let version = transaction.version else { return nil }
        guard version >= changes.floor else { return Self.tooOld }
        if let path = transaction.reads.documents.first(where: { changes.hasChanged($0, after: version) }) {
            return DocumentError(
                .aborted, "document \"\(path)\" was changed by another client; try the transaction again")
        }
        if let query = transaction.reads.queries.values.first(where: { changes.hasChanged($0, after: version) }) {
            return DocumentError(
                .aborted,
                "the result of a query on \"\(query.collection)\" was changed by another client; "
                    + "try the transaction again")
        }
        return nil
    }

    /// Notes a prefetch, which is current at a version.
    mutating func prefetched(_ id: TransactionID, _ reads: ReadSet, version: Int64) {
        open[id]?.reads = reads
        open[id]?.version = version
    }

    mutating func issueTicket(for transaction: OpenTransaction, at now: Duration) {
        tickets[transaction.id] = RetryTicket(reads: transaction.reads, owner: transaction.owner, issued: now)
        ticketAges.append(transaction.id)
        while let oldest = ticketAges.first {
            guard tickets.count > configuration.maxTickets || tickets[oldest] == nil else { break }
            tickets[oldest] = nil
            ticketAges.removeFirst()
        }
        if ticketAges.count > configuration.maxTickets * 2 { ticketAges.removeAll { tickets[$0] == nil } }
    }

    /// The ticket of an aborted transaction, once.
    mutating func takeTicket(_ id: TransactionID, owner: UInt64?, at now: Duration) -> RetryTicket? {
        guard let ticket = tickets[id], ticket.owner == owner else { return nil }
        tickets[id] = nil
        return now - ticket.issued <= configuration.ticketLifetime ? ticket : nil
    }

    /// Whether a transaction was aborted and may be tried again.
    func hasTicket(_ id: TransactionID, owner: UInt64?) -> Bool { tickets[id].map { $0.owner == owner } ?? false }

    /// Ends all of an owner's transactions and forgets its tickets.
    mutating func release(owner: UInt64) -> [TransactionID] {
        let ended = open.values.filter { $0.owner == owner }.map(\.id)
        for id in ended { open[id] = nil }
        let forgotten = tickets.filter { $0.value.owner == owner }.map(\.key)
        for id in forgotten { tickets[id] = nil }
        return ended + forgotten
    }

    /// Forgets transactions and tickets whose time is over.
    mutating func expire(at now: Duration) {
        open = open.filter { !isExpired($0.value, at: now) }
        tickets = tickets.filter { now - $0.value.issued <= configuration.ticketLifetime }
        ticketAges.removeAll { tickets[$0] == nil }
    }

    mutating func applied(_ newChanges: [DocumentChange], version: Int64) {
        changes.append(newChanges, version: version)
    }

    /// Undoes what was applied after a version; who read it can't commit.
    mutating func rollBack(to version: Int64) {
        changes.rollBack(to: version)
        for (id, transaction) in open where transaction.version ?? version > version { open[id]?.isLost = true }
    }

    private mutating func find(
        _ id: TransactionID, owner: UInt64?, at now: Duration
    ) throws(DocumentError) -> OpenTransaction {
        guard let transaction = open[id], transaction.owner == owner else { throw Self.unknown }
        guard !isExpired(transaction, at: now) else {
            open[id] = nil
            throw Self.unknown
        }
        guard !transaction.isLost else {
            open[id] = nil
            issueTicket(for: transaction, at: now)
            throw DocumentError(.aborted, "what the transaction read was not kept; try the transaction again")
        }
        return transaction
    }

    private func isExpired(_ transaction: OpenTransaction, at now: Duration) -> Bool {
        now - transaction.begun > configuration.transactionLifetime
            || now - transaction.used > configuration.transactionIdle
    }

    private static let unknown = DocumentError.invalidArgument(
        "The referenced transaction has expired or is no longer valid.")
    private static let tooOld = DocumentError(
        .aborted, "the transaction is older than the changes that the store remembers; try the transaction again")
}
