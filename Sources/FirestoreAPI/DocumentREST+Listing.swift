import DocumentModel
import FirestoreJSON
import GoogleREST
import StrictJSON
import TextFormats

/// Lists the documents of a collection, and the collections of a document, page by page.
extension DocumentREST {
    private static let defaultPage = 100
    private static let maxPage = 1000

    func list(_ path: RESTPath, _ query: String?, _ principal: Principal) async throws(DocumentError) -> StreamedAnswer
    {
        let parameters = try RESTParameters(
            query,
            known: [
                "pageSize", "pageToken", "orderBy", "mask.fieldPaths", "showMissing", "transaction", "readTime",
            ])
        guard try parameters.boolean("showMissing") != true else {
            throw DocumentError(.unimplemented, "showMissing: listing missing documents is not available")
        }
        let collection = try path.collection()
        let mask = try parameters.mask()
        let size = try pageSize(parameters["pageSize"])
        var request = Query(parent: collection.parent, collectionID: collection.id)
        request.orderBy = try orders(parameters["orderBy"] ?? "")
        if !request.orderBy.contains(where: { $0.field.isDocumentID }) {
            request.orderBy.append(.init(.documentID, descending: request.orderBy.last?.descending ?? false))
        }
        if let token = parameters["pageToken"], !token.isEmpty {
            request.start = Query.Cursor(values: try RESTPageToken.values(token), before: false)
        }
        // Reads one document more than the page holds, to find out whether there is another page. Rules decide on the limit
        // that a client asks for: after a full page it may find that the next one is empty.
        request.limit = principal == .admin ? size + 1 : size
        let found = try await service.query(request, try parameters.consistency(), as: principal).documents
        let page = found.prefix(size)
        guard !page.isEmpty else { return StreamedAnswer(.emptyObject) }
        var (text, end) = (JSONWriter(), JSONWriter())
        text.raw("{\"documents\":[")
        end.raw("]")
        if found.count > size || principal != .admin && found.count == size, let last = page.last {
            end.raw(",\"nextPageToken\":")
            end.string(
                RESTPageToken.text(
                    request.orderBy.map { order in
                        order.field.isDocumentID
                            ? .reference(DocumentName(database: database, path: last.path))
                            : last[order.field] ?? .null
                    }))
        }
        end.raw("}")
        let documents = StreamedAnswer.Elements(count: page.count) { [database] index, text in
            text.document(page[index].masked(by: mask), in: database)
        }
        return StreamedAnswer(text, documents, end: end)
    }

    func listCollectionIDs(
        _ path: RESTPath, _ body: RESTBody, _ principal: Principal
    ) async throws(DocumentError) -> JSONWriter {
        let (size, token) = try body.read { (root) throws(JSONProblem) in
            var size: Int64 = 0
            var token = ""
            for member in try root.members() {
                switch member.key {
                case "pageSize": size = try member.value.integer()
                case "pageToken": token = try member.value.string()
                case "parent": _ = try member.value.string()
                default: throw member.unknown
                }
            }
            guard (0...Int64(Int32.max)).contains(size) else { throw root.problem("pageSize must be 0 … 2147483647") }
            return (Int(size), token)
        }
        var ids = try await service.collectionIDs(below: try path.parent(), as: principal)
        if !token.isEmpty {
            guard case .string(let last)? = try RESTPageToken.values(token).first else {
                throw .invalidArgument("pageToken: this is not the nextPageToken of an earlier response")
            }
            ids.removeAll { !last.utf8.lexicographicallyPrecedes($0.utf8) }
        }
        let page = ids.prefix(size == 0 ? Self.defaultPage : min(size, Self.maxPage))
        var text = JSONWriter()
        text.raw("{")
        if !page.isEmpty {
            text.raw("\"collectionIds\":")
            text.array(page) { $0.string($1) }
        }
        if page.count < ids.count, let last = page.last {
            text.raw(",\"nextPageToken\":")
            text.string(RESTPageToken.text([.string(last)]))
        }
        text.raw("}")
        return text
    }

    private func pageSize(_ text: String?) throws(DocumentError) -> Int {
        guard let text else { return Self.defaultPage }
        guard let size = Int32(text), size >= 0 else {
            throw .invalidArgument("pageSize: \"\(text)\" is not 0 … 2147483647")
        }
        return size == 0 ? Self.defaultPage : min(Int(size), Self.maxPage)
    }

    /// Reads orders such as `price desc, name`.
    private func orders(_ text: String) throws(DocumentError) -> [Query.Order] {
        var orders: [Query.Order] = []
        for part in text.split(separator: ",") {
            let words = part.split(separator: " ")
            let direction = words.count > 1 ? words[1].lowercased() : "asc"
            guard (1...2).contains(words.count), direction == "asc" || direction == "desc" else {
                throw .invalidArgument(
                    "orderBy: \"\(part)\" is not an order; write a field, optionally followed by asc or desc")
            }
            orders.append(.init(try FieldPath(rest: String(words[0])), descending: direction == "desc"))
        }
        return orders
    }
}

/// A token for the end of a page: the values that the page's last document is ordered by, as base64 of JSON.
///
/// A client may send any text as a token, so it is read as strictly as a query's cursor, which it becomes.
enum RESTPageToken {
    static func text(_ values: [Value]) -> String {
        var text = JSONWriter()
        text.array(values) { $0.value($1) }
        return Base64.encode(text.bytes)
    }

    static func values(_ token: String) throws(DocumentError) -> [Value] {
        do throws(JSONProblem) {
            guard let bytes = Base64.decodeAnyAlphabet(token) else { throw JSONProblem(offset: 0, message: "") }
            var values: [Value] = []
            for element in try JSONNode(parsing: bytes).elements() { values.append(try element.value()) }
            return values
        } catch {
            throw .invalidArgument("pageToken: this is not the nextPageToken of an earlier response")
        }
    }
}
