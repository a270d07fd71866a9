import DocumentModel

/// How many stored bytes one read may still bring: whoever asks for more gets an error and not the host's memory.
struct ReadBudget {
    let limit: Int
    private var left: Int

    init(_ limit: Int) {
        self.limit = limit
        left = limit
    }

    /// - Throws: `resourceExhausted` where more was asked for than one answer may hold.
    mutating func take(_ bytes: Int) throws(DocumentError) {
        left -= bytes
        guard left >= 0 else {
            throw DocumentError(
                .resourceExhausted,
                "one answer may hold \(limit / 1_048_576) MiB of documents, the limit; ask for fewer, page by page")
        }
    }
}
