/// The state of the store that a read sees.
public enum ReadConsistency: Hashable, Sendable {
    /// The latest state.
    case strong
    /// The transaction's state; the read becomes part of the transaction.
    case transaction(TransactionID)
    /// The state after all commits up to a time, which must not be in the future or older than the store's history.
    case at(Timestamp)

    /// The latest state outside a transaction.
    public init(transaction: TransactionID?) { self = transaction.map { .transaction($0) } ?? .strong }
}
