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

    /// One page of a collection, with the names that have only documents below them.
    struct ListedPage {
        /// Those that exist.
        var documents: [Document] = []
        /// All of them.
        var paths: [DocumentPath] = []
        /// Empty after the last page.
        var next = ""
    }

    /// - Parameter maxBytes: the limit on the response's text.
    /// - Throws: `resourceExhausted` if the page's text is larger, among others.
    func list(
        _ collection: CollectionPath, size: Int, token: String, maxBytes: Int
    ) async throws(DocumentError) -> ListedPage {
        var path = "/\(PercentEncoding.encoded(collection.string))?pageSize=\(size)&showMissing=true"
        if !token.isEmpty { path += "&pageToken=\(PercentEncoding.encoded(token))" }
        let answer = try await ask("listDocuments", at: path, body: nil, maxBytes: maxBytes)
        let reader = RESTWriteReader(database: database)
        return try answer.answer { (answer) throws(JSONProblem) in
            var page = ListedPage()
            for node in try answer["documents"]?.elements() ?? [] {
                guard let name = node["name"] else { throw node.problem("a document needs a name") }
                page.paths.append(try reader.path(name))
                if node["createTime"] != nil { page.documents.append(try reader.stored(node)) }
            }
            page.next = try answer["nextPageToken"]?.string() ?? ""
            return page
        }
    }
}
