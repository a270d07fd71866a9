package import DocumentModel

/// How large the documents may be that a read still returns, in the host's memory or as JSON: a read that needs more
/// fails, rather than exhausting the host's memory.
struct ReadBudget {
    let limit: Int
    private var left: Int
    /// Counts what becomes part of the answer; nil if nothing counts it.
    private let answer: (any AnswerBytes)?

    init(_ limit: Int, answer: (any AnswerBytes)? = nil) {
        self.limit = limit
        left = limit
        self.answer = answer
    }

    /// The same budget for documents that are held while the answer is looked for.
    var beforeAnswer: ReadBudget {
        var budget = ReadBudget(limit)
        budget.left = left
        return budget
    }

    /// Takes a document into the answer.
    ///
    /// - Parameter weight: as ``Document/weight``.
    /// - Throws: `resourceExhausted` if the read needs more than one answer may hold, or than its caller may have now.
    mutating func take(_ weight: Int) throws(DocumentError) {
        left -= weight
        guard left >= 0 else { throw .answerTooLarge }
        try answer?.take(weight)
    }

    /// Takes the result of a read by path into the answer: the document, or the path of a missing one.
    mutating func take(_ document: Document?, at path: DocumentPath) throws(DocumentError) {
        try take(document?.weight ?? Self.weight(ofMissing: path))
    }

    static func weight(ofMissing path: DocumentPath) -> Int { 64 + path.string.utf8.count }
}

extension DocumentError {
    /// A smaller part of the same answer may be read.
    package static let answerTooLarge = DocumentError(
        .resourceExhausted,
        "one answer may hold about \(DocumentLimits.maxWeight / 1_048_576) MiB of JSON, the limit; ask for less, page by "
            + "page")
}
