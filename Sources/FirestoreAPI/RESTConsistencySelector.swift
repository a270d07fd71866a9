import DocumentModel
import FirestoreJSON
import StrictJSON
import TextFormats

/// The state that a read sees, selected by its request's `transaction`, `newTransaction` or `readTime`.
enum RESTConsistencySelector {
    case at(ReadConsistency)
    /// In a new transaction that begins with the read.
    case new(TransactionMode)

    static let strong = RESTConsistencySelector.at(.strong)

    /// - Returns: whether the member is one of the three selectors.
    mutating func read(_ member: JSONNode.Member) throws(JSONProblem) -> Bool {
        guard ["transaction", "newTransaction", "readTime"].contains(member.key) else { return false }
        guard case .at(.strong) = self else {
            throw JSONProblem(
                offset: member.offset, message: "transaction, newTransaction and readTime exclude each other")
        }
        switch member.key {
        case "transaction": self = .at(.transaction(try member.value.transaction()))
        case "newTransaction": self = .new(try member.value.transactionMode(default: .readOnly(at: nil)))
        default: self = .at(.at(try member.value.timestamp()))
        }
        return true
    }
}

extension DocumentREST {
    /// Responds with an array, which begins with the new transaction if the request asks for one.
    ///
    /// If the read fails, the new transaction is rolled back, because the client never receives its id.
    func reading(
        _ selector: RESTConsistencySelector, _ principal: Principal,
        _ body: (ReadConsistency) async throws(DocumentError) -> StreamedAnswer.Elements
    ) async throws(DocumentError) -> StreamedAnswer {
        var (text, end) = (JSONWriter(), JSONWriter())
        text.raw("[")
        end.raw("]")
        switch selector {
        case .at(let consistency): return StreamedAnswer(text, try await body(consistency), end: end)
        case .new(let mode):
            let transaction = try await service.begin(mode, as: principal)
            text.raw("{\"transaction\":")
            text.string(Base64.encode(transaction.restBytes))
            text.raw("}")
            do throws(DocumentError) {
                let elements = try await body(.transaction(transaction))
                return StreamedAnswer(text, hasElement: true, elements, end: end)
            } catch {
                // The client needs the read's own error. If the rollback fails, the transaction expires when it has
                // been idle too long.
                try? await service.rollback(transaction, as: principal)
                throw error
            }
        }
    }

    func checkParent(_ node: JSONNode, _ parent: DocumentPath?) throws(JSONProblem) {
        let name = parent.map { DocumentName(database: database, path: $0).description }
        guard try node.string() == name ?? database.documentsRoot else {
            throw node.problem("the parent differs from the one in the URL")
        }
    }
}

extension JSONWriter {
    /// Ends an element with the time at which it was read.
    mutating func readTime(_ time: Timestamp) {
        raw(",\"readTime\":")
        string(time.rfc3339)
        raw("}")
    }
}
