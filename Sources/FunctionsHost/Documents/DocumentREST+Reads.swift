import DocumentModel

/// The methods that stream over gRPC and answer a JSON array here.
extension DocumentREST {
    /// In which transaction a read takes place.
    private enum Selector {
        case none
        case within(TransactionID)
        case new(TransactionMode)

        mutating func read(_ member: JSONNode.Member) throws(JSONProblem) -> Bool {
            guard ["transaction", "newTransaction", "readTime"].contains(member.key) else { return false }
            guard case .none = self else {
                throw JSONProblem(
                    offset: member.offset, message: "transaction, newTransaction and readTime exclude each other")
            }
            switch member.key {
            case "transaction": self = .within(try member.value.transaction())
            case "newTransaction": self = .new(try member.value.transactionMode())
            default:
                throw JSONProblem(
                    offset: member.offset, message: "reading documents as of a past time is not available")
            }
            return true
        }
    }

    func batchGet(_ body: RESTBody, _ principal: Principal) async throws(DocumentError) -> JSONText {
        let (paths, mask, selector) = try body.read { (root) throws(JSONProblem) in
            var paths: [DocumentPath] = []
            var mask: [FieldPath]?
            var selector = Selector.none
            for member in try root.members() {
                if try selector.read(member) { continue }
                switch member.key {
                case "documents":
                    let reader = RESTWriteReader(database: database)
                    for element in try member.value.elements() { paths.append(try reader.path(element)) }
                case "mask": mask = try member.value.fieldMask()
                case "database": try checkDatabase(member.value)
                default: throw member.unknown
                }
            }
            return (paths, mask, selector)
        }
        return try await reading(selector, principal) { (transaction, text) throws(DocumentError) in
            let (found, readTime) = try await documents(paths, transaction: transaction, principal)
            for (path, document) in zip(paths, found) {
                text.element()
                if let document {
                    text.raw("{\"found\":")
                    text.document(document.masked(by: mask), in: database)
                } else {
                    text.raw("{\"missing\":")
                    text.string(DocumentName(database: database, path: path).description)
                }
                text.readTime(readTime)
            }
        }
    }

    func runQuery(
        _ path: RESTPath, _ body: RESTBody, _ principal: Principal
    ) async throws(DocumentError) -> JSONText {
        let parent = try path.parent()
        let (query, selector) = try body.read { (root) throws(JSONProblem) in
            var query: Query?
            var selector = Selector.none
            for member in try root.members() {
                if try selector.read(member) { continue }
                switch member.key {
                case "structuredQuery": query = try member.value.structuredQuery(parent: parent)
                case "parent":
                    let name = parent.map { DocumentName(database: database, path: $0).description }
                    guard try member.value.string() == name ?? database.documentsRoot else {
                        throw member.value.problem("this is not the parent in the URL")
                    }
                default: throw member.unknown
                }
            }
            guard let query else { throw root.problem("a request needs its structuredQuery") }
            return (query, selector)
        }
        return try await reading(selector, principal) { (transaction, text) throws(DocumentError) in
            let (found, readTime) = try await results(query, transaction: transaction, principal)
            for document in found {
                text.element()
                text.raw("{\"document\":")
                text.document(document, in: database)
                text.readTime(readTime)
            }
            if found.isEmpty {
                text.element()
                text.raw("{\"readTime\":")
                text.string(readTime.rfc3339)
                text.raw("}")
            }
        }
    }

    /// Answers an array, which begins with the new transaction where one was asked for. One whose read fails is rolled
    /// back: its id never reaches the client.
    private func reading(
        _ selector: Selector, _ principal: Principal,
        _ body: (TransactionID?, inout JSONText) async throws(DocumentError) -> Void
    ) async throws(DocumentError) -> JSONText {
        var text = JSONText()
        text.raw("[")
        switch selector {
        case .none: try await body(nil, &text)
        case .within(let transaction): try await body(transaction, &text)
        case .new(let mode):
            let transaction = try await begin(mode, principal)
            text.raw("{\"transaction\":")
            text.string(RESTBase64.text(transaction.restBytes))
            text.raw("}")
            do throws(DocumentError) {
                try await body(transaction, &text)
            } catch {
                // The read's own error is what the client needs; a transaction that is left ends by its idle limit.
                try? await rollback(transaction, principal)
                throw error
            }
        }
        text.raw("]")
        return text
    }
}

extension JSONText {
    /// Separates an element of an array from the one before it.
    fileprivate mutating func element() {
        if bytes.count > 1 { raw(",") }
    }

    fileprivate mutating func readTime(_ time: Timestamp) {
        raw(",\"readTime\":")
        string(time.rfc3339)
        raw("}")
    }
}
