import DocumentModel
import FirestoreJSON
import OutboundHTTP
import StrictJSON
import TextFormats

extension FirestoreService {
    /// The ids of the collections below a document, or of the database if that is nil, page by page.
    func collectionIDs(below parent: DocumentPath?) async throws(DocumentError) -> [String] {
        var ids: [String] = []
        var token = ""
        repeat {
            var body = JSONWriter()
            body.raw("{\"pageSize\":300")
            if !token.isEmpty {
                body.raw(",\"pageToken\":")
                body.string(token)
            }
            body.raw("}")
            let answer = try await ask("listCollectionIds", below: parent, body)
            token = try answer.answer { (answer) throws(JSONProblem) in
                for id in try answer["collectionIds"]?.elements() ?? [] { ids.append(try id.string()) }
                return try answer["nextPageToken"]?.string() ?? ""
            }
        } while !token.isEmpty
        return ids
    }
}
