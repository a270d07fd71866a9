import DocumentModel

/// How many stored bytes a read may still return: a read that needs more fails, rather than exhausting the host's
/// memory.
struct ReadBudget {
    let limit: Int
    private var left: Int

    init(_ limit: Int) {
        self.limit = limit
        left = limit
    }

    /// - Throws: `resourceExhausted` if the read needs more than one response may hold.
    mutating func take(_ bytes: Int) throws(DocumentError) {
        left -= bytes
        guard left >= 0 else {
            throw DocumentError(
                .resourceExhausted,
                "one answer may hold \(limit / 1_048_576) MiB of documents, the limit; ask for fewer, page by page")
        }
    }
}
