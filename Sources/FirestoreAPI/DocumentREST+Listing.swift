import DocumentModel
import FirestoreJSON
import FirestoreMessages
import GoogleREST
import StrictJSON

/// Lists the documents of a collection, and the collections of a document, page by page.
extension DocumentREST {
    private var pages: DocumentPages { DocumentPages(service: service, database: database) }

    func list(_ path: RESTPath, _ query: String?, _ principal: Principal) async throws(DocumentError) -> StreamedAnswer
    {
        let parameters = try RESTParameters(
            query,
            known: [
                "pageSize", "pageToken", "orderBy", "mask.fieldPaths", "showMissing", "transaction", "readTime",
            ])
        let mask = try parameters.mask()
        var listing = DocumentPages.Listing(collection: try path.collection())
        listing.size = try pageSize(parameters["pageSize"])
        listing.token = parameters["pageToken"] ?? ""
        listing.order = parameters["orderBy"] ?? ""
        listing.showsMissing = try parameters.boolean("showMissing") ?? false
        listing.consistency = try parameters.consistency()
        let (page, next) = try await pages.list(listing, as: principal)
        guard !page.isEmpty else { return StreamedAnswer(.emptyObject) }
        var (text, end) = (JSONWriter(), JSONWriter())
        text.raw("{\"documents\":[")
        end.raw("]")
        if let next {
            end.raw(",\"nextPageToken\":")
            end.string(next)
        }
        end.raw("}")
        let documents = StreamedAnswer.Elements(count: page.count) { [database] index, text in
            if let document = page[index].document { return text.document(document.masked(by: mask), in: database) }
            text.raw("{\"name\":")
            text.name(page[index].path, in: database)
            text.raw("}")
        }
        return StreamedAnswer(text, documents, end: end)
    }

    func listCollectionIDs(
        _ path: RESTPath, _ body: RESTBody, _ principal: Principal
    ) async throws(DocumentError) -> JSONWriter {
        let (size, token, consistency) = try body.read(as: FSListCollectionIdsRequest.self) {
            (root) throws(JSONProblem) in
            var size: Int64 = 0
            var token = ""
            var consistency = ReadConsistency.strong
            for member in try root.members() {
                switch member.key {
                case "pageSize": size = try member.value.integer()
                case "pageToken": token = try member.value.string()
                case "readTime": consistency = .at(try member.value.timestamp())
                case "parent": _ = try member.value.string()
                default: throw member.unknown
                }
            }
            guard (0...Int64(Int32.max)).contains(size) else { throw root.problem("pageSize must be 0 … 2147483647") }
            return (Int(size), token, consistency)
        }
        let (page, next) = try await pages.collectionIDs(
            below: try path.parent(), size: size, token: token, consistency, as: principal)
        var text = JSONWriter()
        text.raw("{")
        if !page.isEmpty {
            text.raw("\"collectionIds\":")
            text.array(page) { $0.string($1) }
        }
        if let next {
            text.raw(",\"nextPageToken\":")
            text.string(next)
        }
        text.raw("}")
        return text
    }

    private func pageSize(_ text: String?) throws(DocumentError) -> Int {
        guard let text else { return 0 }
        guard let size = Int32(text), size >= 0 else {
            throw .invalidArgument("pageSize: \"\(text)\" is not 0 … 2147483647")
        }
        return Int(size)
    }
}
