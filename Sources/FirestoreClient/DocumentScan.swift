import DocumentModel
import FirestoreJSON
import StrictJSON

/// All documents of a database in the order of their names, all as of the time of the first page.
struct DocumentScan: Sendable {
    private static let pageSize = 1000

    private let service: FirestoreService
    private var size = PageSize(pageSize)
    private var last: DocumentPath?
    private var time: Timestamp?

    init(_ service: FirestoreService) { self.service = service }

    /// The next documents; nil after the last.
    ///
    /// - Throws: `invalidArgument` or `unimplemented`, among others, if the service has no query over the collections of all
    ///   names.
    mutating func next() async throws(DocumentError) -> [Document]? {
        let (service, last, time) = (service, last, time)
        let page = try await size.page { size, maxBytes throws(DocumentError) in
            try await service.scan(after: last, at: time, size: size, maxBytes: maxBytes)
        }
        self.time = time ?? page.readTime
        self.last = page.documents.last?.path ?? last
        return page.documents.isEmpty ? nil : page.documents
    }
}

extension FirestoreService {
    /// - Parameters:
    ///   - time: nil for now.
    ///   - maxBytes: the limit on the response's text.
    fileprivate func scan(
        after last: DocumentPath?, at time: Timestamp?, size: Int, maxBytes: Int
    ) async throws(DocumentError) -> (documents: [Document], readTime: Timestamp?) {
        var query = Query(collectionID: "", allDescendants: true)
        query.orderBy = [Query.Order(.documentID)]
        query.limit = size
        if let last {
            query.start = Query.Cursor(
                values: [.reference(DocumentName(database: database, path: last))], before: false)
        }
        var body = JSONWriter()
        body.raw("{\"structuredQuery\":")
        body.structuredQuery(query)
        if let time {
            body.raw(",\"readTime\":")
            body.string(time.rfc3339)
        }
        body.raw("}")
        let reader = RESTWriteReader(database: database)
        var documents: [Document] = []
        var readTime: Timestamp?
        for element in try await ask("runQuery", at: ":runQuery", body: body.bytes, maxBytes: maxBytes).stream() {
            try element.answer { (element) throws(JSONProblem) in
                if let node = element["document"] { documents.append(try reader.stored(node)) }
                if let node = element["readTime"] { readTime = try node.timestamp() }
            }
        }
        return (documents, readTime)
    }
}
