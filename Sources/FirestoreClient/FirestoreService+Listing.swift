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

    /// A page of the ids of a collection's documents, with those of missing ones. The mask leaves no fields.
    func list(_ page: DocumentListing) async throws(DocumentError) -> ListingAnswer {
        var address = "/\(PercentEncoding.encoded(page.collection.string))?pageSize=\(page.limit)"
        address += "&showMissing=true&mask.fieldPaths=__name__"
        if let token = page.token { address += "&pageToken=\(PercentEncoding.encoded(token))" }
        let answer = try await ask("listDocuments", at: address, body: nil)
        let reader = RESTWriteReader(database: database)
        return try answer.answer { (answer) throws(JSONProblem) in
            var ids: [String] = []
            for document in try answer["documents"]?.elements() ?? [] {
                guard let name = document["name"] else { throw document.problem("a document has no name") }
                let path = try reader.path(name)
                guard page.collection.contains(path) else {
                    throw name.problem("\(name.summary) isn't in \(page.collection)")
                }
                ids.append(path.id)
            }
            let next = try answer["nextPageToken"]?.string() ?? ""
            return ListingAnswer(ids: ids, next: next.isEmpty ? nil : next)
        }
    }
}
