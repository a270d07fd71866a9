import DocumentModel
import FirestoreJSON
import FirestoreMessages
import GoogleREST
import StrictJSON

/// Writes that succeed or fail independently of each other.
extension DocumentREST {
    func batchWrite(_ body: RESTBody, _ principal: Principal) async throws(DocumentError) -> JSONWriter {
        let writes = try body.read(as: FSBatchWriteRequest.self) { (root) throws(JSONProblem) in
            var writes: [Write] = []
            for member in try root.members() {
                switch member.key {
                case "writes": writes = try RESTWriteReader(database: database).writes(member.value)
                case "database": try checkDatabase(member.value)
                // Labels only serve billing, so they are ignored.
                case "labels": _ = try member.value.members()
                default: throw member.unknown
                }
            }
            return writes
        }
        guard !writes.isEmpty else { return .emptyObject }
        try ClientCall.current?.hold(writes)
        let results = try await service.batchWrite(writes, as: principal)
        var text = JSONWriter()
        text.raw("{\"writeResults\":")
        text.array(results) { text, result in
            switch result {
            case .success(let result): text.writeResult(result)
            case .failure: text.raw("{}")
            }
        }
        text.raw(",\"status\":")
        text.array(results) { text, result in
            switch result {
            case .success: text.raw("{}")
            case .failure(let error):
                text.raw("{\"code\":")
                text.integer(Int(error.code.rawValue))
                text.raw(",\"message\":")
                text.string(error.message)
                text.raw("}")
            }
        }
        text.raw("}")
        return text
    }
}
