import DocumentModel
import FirestoreJSON
import HostJSON

/// Which state a read sees, as `transaction`, `newTransaction` and `readTime` of its request say.
enum RESTSelector {
    case at(ReadConsistency)
    /// In a transaction that begins with the read.
    case new(TransactionMode)

    static let strong = RESTSelector.at(.strong)

    /// - Returns: whether the member is one of the three.
    mutating func read(_ member: JSONNode.Member) throws(JSONProblem) -> Bool {
        guard ["transaction", "newTransaction", "readTime"].contains(member.key) else { return false }
        guard case .at(.strong) = self else {
            throw JSONProblem(
                offset: member.offset, message: "transaction, newTransaction and readTime exclude each other")
        }
        switch member.key {
        case "transaction": self = .at(.transaction(try member.value.transaction()))
        case "newTransaction": self = .new(try member.value.transactionMode())
        default: self = .at(.at(try member.value.timestamp()))
        }
        return true
    }
}

extension DocumentREST {
    /// Answers an array, which begins with the new transaction where one was asked for. One whose read fails is rolled
    /// back: its id never reaches the client.
    func reading(
        _ selector: RESTSelector, _ principal: Principal,
        _ body: (ReadConsistency, inout JSONText) async throws(DocumentError) -> Void
    ) async throws(DocumentError) -> JSONText {
        var text = JSONText()
        text.raw("[")
        switch selector {
        case .at(let consistency): try await body(consistency, &text)
        case .new(let mode):
            let transaction = try await begin(mode, principal)
            text.raw("{\"transaction\":")
            text.base64(transaction.restBytes)
            text.raw("}")
            do throws(DocumentError) {
                try await body(.transaction(transaction), &text)
            } catch {
                // The read's own error is what the client needs; a transaction that is left ends by its idle limit.
                try? await rollback(transaction, principal)
                throw error
            }
        }
        text.raw("]")
        return text
    }

    func checkParent(_ node: JSONNode, _ parent: DocumentPath?) throws(JSONProblem) {
        let name = parent.map { DocumentName(database: database, path: $0).description }
        guard try node.string() == name ?? database.documentsRoot else {
            throw node.problem("this is not the parent in the URL")
        }
    }
}

extension JSONText {
    /// Separates an element of an array from the one before it.
    mutating func element() {
        if bytes.count > 1 { raw(",") }
    }

    /// Ends an element with the time it was read at.
    mutating func readTime(_ time: Timestamp) {
        raw(",\"readTime\":")
        string(time.rfc3339)
        raw("}")
    }
}
