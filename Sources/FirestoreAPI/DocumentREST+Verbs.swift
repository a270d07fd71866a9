import DocumentModel
import FirestoreJSON
import FirestoreMessages
import GoogleREST
import StrictJSON
import TextFormats

/// The custom methods, such as `documents:commit`.
extension DocumentREST {
    func perform(
        _ verb: String, _ path: RESTPath, _ body: RESTBody, _ principal: Principal
    ) async throws(DocumentError) -> StreamedAnswer {
        let isRoot = path.segments.isEmpty
        switch verb {
        case "commit" where isRoot: return StreamedAnswer(try await commit(body, principal))
        case "batchGet" where isRoot: return try await batchGet(body, principal)
        case "beginTransaction" where isRoot: return StreamedAnswer(try await begin(body, principal))
        case "rollback" where isRoot: return StreamedAnswer(try await rollback(body, principal))
        case "runQuery": return try await runQuery(path, body, principal)
        case "listCollectionIds": return StreamedAnswer(try await listCollectionIDs(path, body, principal))
        case "batchWrite" where isRoot: return StreamedAnswer(try await batchWrite(body, principal))
        case "runAggregationQuery": return try await runAggregationQuery(path, body, principal)
        case "partitionQuery": return StreamedAnswer(try await partitionQuery(path, body, principal))
        case "listen", "write", "executePipeline":
            throw DocumentError(.unimplemented, "\(verb) is not available over REST")
        default:
            throw DocumentError(
                .notFound, "the method \"\(verb)\" doesn't exist on \(path.segments.joined(separator: "/"))")
        }
    }

    private func commit(_ body: RESTBody, _ principal: Principal) async throws(DocumentError) -> JSONWriter {
        let (writes, transaction) = try body.read(as: FSCommitRequest.self) { (root) throws(JSONProblem) in
            var writes: [Write] = []
            var transaction: TransactionID?
            for member in try root.members() {
                switch member.key {
                case "writes": writes = try RESTWriteReader(database: database).writes(member.value)
                case "transaction": transaction = try member.value.transaction()
                case "database": try checkDatabase(member.value)
                default: throw member.unknown
                }
            }
            return (writes, transaction)
        }
        try ClientCall.current?.hold(writes)
        let result = try await service.commit(writes, transaction: transaction, as: principal)
        var text = JSONWriter()
        text.raw("{")
        if !result.writeResults.isEmpty {
            text.raw("\"writeResults\":")
            text.array(result.writeResults) { $0.writeResult($1) }
            text.raw(",")
        }
        text.raw("\"commitTime\":")
        text.string(result.commitTime.rfc3339)
        text.raw("}")
        return text
    }

    private func begin(_ body: RESTBody, _ principal: Principal) async throws(DocumentError) -> JSONWriter {
        let mode = try body.read(as: FSBeginTransactionRequest.self) { (root) throws(JSONProblem) in
            var mode = TransactionMode.readWrite(retrying: nil)
            for member in try root.members() {
                switch member.key {
                case "options": mode = try member.value.transactionMode(default: .readWrite(retrying: nil))
                case "database": try checkDatabase(member.value)
                default: throw member.unknown
                }
            }
            return mode
        }
        var text = JSONWriter()
        text.raw("{\"transaction\":")
        text.string(Base64.encode(try await service.begin(mode, as: principal).restBytes))
        text.raw("}")
        return text
    }

    private func rollback(_ body: RESTBody, _ principal: Principal) async throws(DocumentError) -> JSONWriter {
        let transaction = try body.read(as: FSRollbackRequest.self) { (root) throws(JSONProblem) in
            var transaction: TransactionID?
            for member in try root.members() {
                switch member.key {
                case "transaction": transaction = try member.value.transaction()
                case "database": try checkDatabase(member.value)
                default: throw member.unknown
                }
            }
            guard let transaction else { throw root.problem("a rollback needs its transaction") }
            return transaction
        }
        try await service.rollback(transaction, as: principal)
        return .emptyObject
    }

    func checkDatabase(_ node: JSONNode) throws(JSONProblem) {
        guard try node.string() == database.resourceName else {
            throw node.problem("the database differs from the one in the URL")
        }
    }
}
