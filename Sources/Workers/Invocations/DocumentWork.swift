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
    /// Whether the handler does work that was claimed under an idempotency key.
    private(set) var holdsClaim = false
    /// Whether the handler has begun to observe the Realtime Database.
    private var observes = false

    /// - Returns: false if too many operations are in progress.
    mutating func begin() -> Bool {
        guard pending < Self.maxPending else { return false }
        pending += 1
        return true
    }

    /// A commit that completes the handler's work is performed.
    mutating func beginCompletion() { completions += 1 }

    var isCompleting: Bool { completions > 0 }

    mutating func end(_ result: Result) {
        pending -= 1
        if result.completion != nil { completions -= 1 }
        switch result.transactions {
        case .began: transactions += 1
        case .ended: transactions = max(transactions - 1, 0)
        case .unchanged: break
        }
        if let claim = result.holdsClaim { holdsClaim = claim }
        if result.beginsObservation { observes = true }
    }

    /// The handler has ended, or its client no longer waits.
    /// - Returns: whether anything in progress must be rolled back.
    mutating func release() -> Bool {
        defer {
            transactions = 0
            holdsClaim = false
            observes = false
        }
        return transactions > 0 || pending > 0 || holdsClaim || observes
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

        var transactions = Transactions.unchanged
        /// Nil if the operation doesn't change it.
        var holdsClaim: Bool?
        var beginsObservation = false
        /// Nil if the operation isn't a commit of the handler's work as a whole.
        var completion: Completion?
        /// Whether the caller's Idempotency-Key was used with other data, so that the handler must not run.
        var isKeyReused = false
    }
}

extension DocumentWork.Result {
    /// - Parameters:
    ///   - endsTransaction: Whether the request ends its transaction if it succeeds.
    ///   - completing: The handler's response, if the request commits its work as a whole.
    init(_ response: DocumentResponse, endsTransaction: Bool, completing: [UInt8]?) {
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
        case .failed, .documents, .results, .aggregated, .explained, .partitioned, .collections, .descendants,
            .written, .claimed, .settled, .users, .usersRefused, .database:
            break
        }
        switch response {
        case .keyReused: isKeyReused = true
        case .claimed: holdsClaim = true
        case .database(.observing): beginsObservation = true
        case .settled: holdsClaim = false
        default: break
        }
    }
}

extension DocumentRequest {
    var endsTransaction: Bool {
        switch self {
        case .commit(_, let transaction, _, _): transaction != nil
        case .commitAll, .rollback: true
        default: false
        }
    }
}
