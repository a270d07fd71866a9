import DocumentModel
import DocumentStore
import FirestoreJSON
import StrictJSON
import TextFormats

/// Answers that come page by page: documents of a collection, collections of a document, parts of a query.
struct DocumentPages {
    let service: any DocumentService
    let database: DatabaseID

    private static let defaultPage = 100
    private static let maxPage = 1000

    struct Listing {
        var collection: CollectionPath
        /// 0 for the default.
        var size = 0
        var token = ""
        /// Orders such as `price desc, name`.
        var order = ""
        /// Whether ids are listed too that have only documents below them.
        var showsMissing = false
        /// Whether the documents' fields are wanted: without them, many more documents are one answer.
        var hasFields = true
        var consistency = ReadConsistency.strong
    }

    /// The size of a page.
    private static func size(_ size: Int) throws(DocumentError) -> Int {
        guard (0...Int(Int32.max)).contains(size) else {
            throw .invalidArgument("the page size must be 0 … 2147483647")
        }
        return size == 0 ? defaultPage : min(size, maxPage)
    }

    /// A document of a listing; nil if there are only documents below its name.
    typealias Listed = (path: DocumentPath, document: Document?)

    /// - Returns: the page, and the token of the next one; nil after the last.
    func list(
        _ listing: Listing, as principal: Principal
    ) async throws(DocumentError) -> (documents: [Listed], next: String?) {
        guard listing.showsMissing else {
            let (page, next) = try await stored(listing, as: principal)
            return (page.map { ($0.path, $0) }, next)
        }
        guard listing.order.isEmpty || listing.order == "__name__" || listing.order == "__name__ asc" else {
            throw .invalidArgument("with showMissing, documents are listed by their names, ascending; omit orderBy")
        }
        var after: String?
        if !listing.token.isEmpty {
            guard case .reference(let last)? = try PageToken.values(listing.token).first else {
                throw PageToken.invalid
            }
            after = last.path.id
        }
        let size = try Self.size(listing.size)
        var paths: [DocumentPath: Document?] = [:]
        for id in try await service.ids(
            .parents(in: listing.collection), after: after, atMost: size + 1, listing.consistency, as: principal)
        {
            paths[try listing.collection.document(id)] = .some(nil)
        }
        let (found, hasMore) = try await stored(listing, as: principal)
        for document in found { paths[document.path] = document }
        var all = paths.sorted { DocumentPath.compare($0.key, $1.key) == .ascending }
        if hasMore != nil, let last = found.last?.path {
            // What comes after it is listed with the documents in between.
            all.removeAll { DocumentPath.compare($0.key, last) == .descending }
        }
        let page = all.prefix(size).map { (path: $0.key, document: $0.value) }
        guard all.count > size || hasMore != nil, let last = page.last else { return (page, nil) }
        return (page, PageToken.text([.reference(DocumentName(database: database, path: last.path))]))
    }

    /// The documents that exist.
    private func stored(
        _ listing: Listing, as principal: Principal
    ) async throws(DocumentError) -> (documents: ArraySlice<Document>, next: String?) {
        let size = try Self.size(listing.size)
        var request = Query(parent: listing.collection.parent, collectionID: listing.collection.id)
        request.orderBy = try orders(listing.order)
        if !request.orderBy.contains(where: { $0.field.isDocumentID }) {
            request.orderBy.append(.init(.documentID, descending: request.orderBy.last?.descending ?? false))
        }
        // The next page's token has the values that the documents are ordered by.
        if !listing.hasFields { request.projection = request.orderBy.map(\.field) }
        if !listing.token.isEmpty {
            request.start = Query.Cursor(values: try PageToken.values(listing.token), before: false)
        }
        let (page, hasMore) = try await page(of: request, atMost: size, listing.consistency, as: principal)
        guard hasMore, let last = page.last else { return (page, nil) }
        let values = request.orderBy.map { order in
            order.field.isDocumentID
                ? .reference(DocumentName(database: database, path: last.path)) : last[order.field] ?? .null
        }
        return (page, PageToken.text(values))
    }

    /// A page's documents, fewer than it may have if these are too large for one answer, and whether there may be more.
    private func page(
        of query: Query, atMost limit: Int, _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> (documents: ArraySlice<Document>, hasMore: Bool) {
        var (query, size) = (query, limit)
        // Reads one document more than the page holds, to find out whether there is another page. Rules decide on the limit
        // that a client asks for, and an answer of large documents may have no room for it: after a full page the next one
        // may be empty.
        var looksAhead = principal == .admin
        while true {
            query.limit = looksAhead ? size + 1 : size
            do throws(DocumentError) {
                let found = try await service.query(query, consistency, as: principal).documents
                return (found.prefix(size), looksAhead ? found.count > size : found.count == size)
            } catch {
                // What takes too long to find would take as long again.
                guard error == .answerTooLarge || error == ClientAnswer.tooMuch, size > 1 || looksAhead else {
                    throw error
                }
                ClientCall.current?.answer?.release()
                (size, looksAhead) = ((size + 1) / 2, false)
            }
        }
    }

    func collectionIDs(
        below parent: DocumentPath?, size: Int, token: String, _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> (ids: ArraySlice<String>, next: String?) {
        let size = try Self.size(size)
        var after: String?
        if !token.isEmpty {
            guard case .string(let last)? = try PageToken.values(token).first else { throw PageToken.invalid }
            after = last
        }
        let ids = try await service.ids(
            .collections(below: parent), after: after, atMost: size + 1, consistency, as: principal)
        let page = ids.prefix(size)
        return (page, page.count < ids.count ? page.last.map { PageToken.text([.string($0)]) } : nil)
    }

    struct Partition {
        var query = Query(collectionID: "")
        var points = 0
        /// 0 for all at once.
        var size = 0
        var token = ""
        var consistency = ReadConsistency.strong
    }

    func partitions(
        _ partition: Partition, as principal: Principal
    ) async throws(DocumentError) -> (points: ArraySlice<DocumentPath>, next: String?) {
        guard partition.points > 0 else { throw .invalidArgument("the partition count must be at least 1") }
        guard (0...Int(Int32.max)).contains(partition.size) else {
            throw .invalidArgument("the page size must be 0 … 2147483647")
        }
        var points = try await service.partition(
            partition.query, points: partition.points, partition.consistency, as: principal
        ).points
        if !partition.token.isEmpty {
            guard case .reference(let last)? = try PageToken.values(partition.token).first else {
                throw PageToken.invalid
            }
            points.removeAll { DocumentPath.compare($0, last.path) != .descending }
        }
        let page = partition.size == 0 ? points[...] : points.prefix(partition.size)
        let next = page.last.map { PageToken.text([.reference(DocumentName(database: database, path: $0))]) }
        return (page, page.count < points.count ? next : nil)
    }

    private func orders(_ text: String) throws(DocumentError) -> [Query.Order] {
        var orders: [Query.Order] = []
        guard !text.hasPrefix(" "), !text.hasSuffix(" ") else {
            throw .invalidArgument("orderBy: \"\(text)\" has a space at its start or end")
        }
        guard !text.isEmpty else { return orders }
        for part in Self.parts(of: text[...], between: UInt8(ascii: ",")) {
            let words = Self.parts(of: part, between: UInt8(ascii: " ")).filter { !$0.isEmpty }
            let direction = words.count > 1 ? words[1].lowercased() : "asc"
            guard (1...2).contains(words.count), direction == "asc" || direction == "desc" else {
                throw .invalidArgument(
                    "orderBy: \"\(part)\" is not an order; write a field, optionally followed by asc or desc")
            }
            orders.append(.init(try FieldPath(rest: String(words[0])), descending: direction == "desc"))
        }
        return orders
    }

    /// The parts of a text between separators that aren't within backticks.
    private static func parts(of text: Substring, between separator: UInt8) -> [Substring] {
        var parts: [Substring] = []
        var start = text.startIndex
        var (isQuoted, isEscaped) = (false, false)
        for index in text.utf8.indices {
            switch text.utf8[index] {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isQuoted: isEscaped = true
            case UInt8(ascii: "`"): isQuoted.toggle()
            case separator where !isQuoted:
                parts.append(text[start..<index])
                start = text.utf8.index(after: index)
            default: break
            }
        }
        return parts + [text[start...]]
    }
}

/// A token for the end of a page: the values that the page's last document is ordered by, as base64 of JSON.
///
/// A client may send any text as a token, so it is read as strictly as a query's cursor, which it becomes.
enum PageToken {
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
            throw Self.invalid
        }
    }

    static let invalid = DocumentError.invalidArgument(
        "pageToken: this is not the nextPageToken of an earlier response")
}
