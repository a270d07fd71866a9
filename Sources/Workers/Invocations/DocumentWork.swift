import WorkerProtocol

/// The document operations and transactions of an invocation, as a pure state machine.
struct DocumentWork: Equatable {
    /// The maximum number of operations in progress of one invocation.
    static let maxPending = 1000

    /// The number of operations without an answer.
    private var pending = 0
    /// The number of transactions that were begun and haven't ended.
    private var transactions = 0
    /// The number of commits in progress that complete the handler's work.
    private var completions = 0
    private var claim = Claim.none
    /// Whether the handler has begun to observe the Realtime Database.
    private var observes = false

    /// The handler's claim to work under an idempotency key.
    private enum Claim: Equatable {
        case none
        /// It is being made, and may be durable already.
        case pending
        case held
    }

    /// Whether the handler does work that was claimed under an idempotency key, or is about to.
    var isClaimed: Bool { claim != .none }

    /// - Returns: false if too many operations are in progress.
    mutating func begin() -> Bool {
        guard pending < Self.maxPending else { return false }
        pending += 1
        return true
    }

    /// A commit that completes the handler's work is performed.
    mutating func beginCompletion() { completions += 1 }

    var isCompleting: Bool { completions > 0 }

    /// A claim is performed.
    mutating func beginClaim() { if claim == .none { claim = .pending } }

    mutating func end(_ result: Result) {
        pending -= 1
        if result.completion != nil { completions -= 1 }
        switch result.transactions {
        case .began: transactions += 1
        case .ended: transactions = max(transactions - 1, 0)
        case .unchanged: break
        }
        switch result.claim {
        case .unchanged: break
        case .taken: claim = .held
        case .refused: if claim == .pending { claim = .none }
        case .settled: claim = .none
        }
        if result.beginsObservation { observes = true }
    }

    /// The handler has ended, or its client no longer waits.
    /// - Returns: whether anything in progress must be rolled back.
    mutating func release() -> Bool {
        defer {
            transactions = 0
            claim = .none
            observes = false
        }
        return transactions > 0 || pending > 0 || isClaimed || observes
    }

    /// The end of a commit of the handler's work as a whole.
    enum Completion: Equatable, Sendable {
        /// With the handler's response.
        case committed([UInt8])
        /// It was done before under the same key, with this response.
        case completed([UInt8])
        case keyReused
        case refused
    }

    /// The consequences of an operation's answer.
    struct Result: Equatable, Sendable {
        enum Transactions: Equatable {
            case began, ended, unchanged
        }

        enum Claim: Equatable {
            case taken, refused, settled, unchanged
        }

        var transactions = Transactions.unchanged
        var claim = Claim.unchanged
        var beginsObservation = false
        /// Nil if the operation isn't a commit of the handler's work as a whole.
        var completion: Completion?
        /// Whether the caller's Idempotency-Key was used with other data, so that the handler must not run.
        var isKeyReused = false
        var isFailed = false
    }
}

extension DocumentWork.Result {
    /// - Parameters:
    ///   - isClaim: Whether the request claims the work under an idempotency key.
    ///   - endsTransaction: Whether the request ends its transaction if it succeeds.
    ///   - completing: The handler's response, if the request commits its work as a whole.
    init(_ response: DocumentResponse, isClaim: Bool, endsTransaction: Bool, completing: [UInt8]?) {
        if isClaim { claim = .refused }
        if let completing {
            completion =
                switch response {
                case .committed: .committed(completing)
                case .completed(let earlier): .completed(earlier)
                case .keyReused: .keyReused
                default: .refused
                }
        }
        switch response {
        case .began: transactions = .began
        case .committed, .completed, .rolledBack, .keyReused: if endsTransaction { transactions = .ended }
        // A commit that was refused may be retried in the same transaction.
        case .failed, .documents, .results, .aggregated, .explained, .partitioned, .collections, .listed,
            .descendants, .written, .claimed, .settled, .users, .usersRefused, .database:
            break
        }
        switch response {
        case .keyReused: isKeyReused = true
        case .failed: isFailed = true
        case .claimed: claim = .taken
        case .database(.observing): beginsObservation = true
        case .settled: claim = .settled
        default: break
        }
    }
}

extension DocumentRequest {
    var isClaim: Bool { if case .claim = self { true } else { false } }

    var endsTransaction: Bool {
        switch self {
        case .commit(_, let transaction, _, _): transaction != nil
        case .commitAll, .rollback: true
        default: false
        }
    }
}
