import DocumentModel

/// The weight of the recorded reads of all open transactions, which bounds the memory that they take.
///
/// Clients together have half of it, so that functions always find some; the less is left of that, the less may one
/// client have.
struct NotedReads: Sendable {
    private var all = 0
    private var ofClients = 0
    private var byClient: [UInt64?: Int] = [:]

    /// Adds the weight of reads that a transaction has recorded; a negative one takes it away.
    mutating func note(_ weight: Int, with transaction: OpenTransaction) {
        all += weight
        guard transaction.isClient else { return }
        ofClients += weight
        let own = (byClient[transaction.owner] ?? 0) + weight
        byClient[transaction.owner] = own == 0 ? nil : own
    }

    /// Why reads can't be recorded: those of the client or of all transactions together would exceed a limit.
    func refusal(
        of weight: Int, by transaction: OpenTransaction, _ configuration: StoreConfiguration
    ) -> DocumentError? {
        if transaction.isClient {
            let free = configuration.maxNotedReads / 2 - ofClients
            guard weight <= free else {
                return DocumentError(
                    .resourceExhausted, "the open transactions of clients together have read too much; retry later")
            }
            let own = byClient[transaction.owner] ?? 0
            let limit = min(configuration.maxNotedReadsPerClient, max((free + own) / 20, 100))
            guard own + weight <= limit else {
                return DocumentError(
                    .resourceExhausted,
                    "the open transactions of a client may have read \(limit) documents together, the limit, where "
                        + "long names and queries count as several; end one")
            }
        }
        guard all + weight <= configuration.maxNotedReads else {
            return DocumentError(
                .resourceExhausted, "the open transactions together have read too much; retry later")
        }
        return nil
    }
}
