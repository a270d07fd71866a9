public import DocumentModel

/// The documents of a query, however many there are. They are read page by page while they are iterated over.
///
/// Created by `stream` of a collection or query.
public struct QueryStream: AsyncSequence, Sendable {
    public typealias Element = DocumentSnapshot

    fileprivate let query: Query
    fileprivate let pageSize: Int

    public struct AsyncIterator: AsyncIteratorProtocol {
        private enum State {
            case unread(QueryStream)
            case reading(QueryPages)
            case ended
        }

        private var state: State
        private var page: ArraySlice<DocumentSnapshot> = []

        fileprivate init(_ stream: QueryStream) { state = .unread(stream) }

        /// - Throws: `invalidArgument` if the query is invalid or has a `limit(toLast:)`; otherwise as
        ///   ``Queryable/getDocuments()``. The iteration ends with an error.
        public mutating func next() async throws(DocumentError) -> DocumentSnapshot? {
            while page.isEmpty {
                do throws(DocumentError) {
                    guard let next = try await nextPage() else { return nil }
                    page = next[...]
                } catch {
                    state = .ended
                    throw error
                }
            }
            return page.popFirst()
        }

        private mutating func nextPage() async throws(DocumentError) -> [DocumentSnapshot]? {
            switch state {
            case .unread(let stream): state = .reading(try QueryPages(of: stream.query, size: stream.pageSize))
            case .reading: break
            case .ended: return nil
            }
            guard case .reading(var pages) = state else { return nil }
            guard let page = try await pages.next() else {
                state = .ended
                return nil
            }
            state = .reading(pages)
            return page
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension Queryable {
    /// The documents as an asynchronous sequence, which reads the next page once it is needed and holds one page at a
    /// time:
    ///
    ///     for try await user in users.whereField("age", isGreaterThan: 17).stream() {
    ///         try await writer.updateData(["adult": true], forDocument: user.reference)
    ///     }
    ///
    /// Each page is as of its own time: a document that is added, deleted or moved in the query's order meanwhile may
    /// be missing, and one that moves on may be seen again, any number of times: a loop that changes the fields that the
    /// query is ordered by, or has an inequality on, may never end. Each page is a query of its own, outside of any
    /// transaction; without an index that has the query's order, each reads all matches (`explain(analyze: true)` names
    /// the index). A limit and an offset apply to the sequence as a whole. A query with `limit(toLast:)` is refused:
    /// reverse its order and use `limit(to:)`.
    ///
    /// - Parameter pageSize: The maximum number of documents of a page, at least 1. If they are too large for one
    ///   answer, pages become smaller.
    public func stream(pageSize: Int = 500) -> QueryStream { QueryStream(query: query, pageSize: pageSize) }

    /// The documents as an asynchronous sequence, decoded as a `Codable` type. A document that doesn't have the type
    /// ends it with a `DecodingError`.
    ///
    /// - Parameters:
    ///   - type: What each document is decoded as.
    ///   - pageSize: As in ``stream(pageSize:)``.
    public func stream<T: Decodable & Sendable>(
        as type: T.Type, pageSize: Int = 500
    ) -> some AsyncSequence<Document<T>, any Error> & Sendable {
        stream(pageSize: pageSize).map { try $0.document(as: T.self) }
    }
}

/// A query's pages, each of which begins after the last document of the one before.
private struct QueryPages {
    private let firestore: Firestore
    /// The query for the next page, except for its limit.
    private var query: DocumentModel.Query
    /// How many documents the query's own limit still allows; nil if it has none.
    private var left: Int?
    private let most: Int
    /// Smaller than the most while documents are too large for one answer.
    private var size: Int
    /// What a document has of its fields, if pages are read with more fields than these.
    private let mask: FieldMask?

    /// - Throws: `invalidArgument` if the query can't be read page by page.
    init(of query: Query, size: Int) throws(DocumentError) {
        let (model, isReversed) = try query.resolved()
        guard !isReversed else {
            throw .invalidArgument(
                "a query with limit(toLast:) can't be streamed; reverse its order and use limit(to:), or use "
                    + "getDocuments()")
        }
        guard size > 0 else { throw .invalidArgument("a page of a stream has at least 1 document, not \(size)") }
        firestore = query.firestore
        most = min(size, Int(Int32.max))
        self.size = most
        left = model.limit
        self.query = model
        self.query.orderBy = model.completeOrder
        let added = self.query.unselectedOrders
        mask = added.isEmpty ? nil : model.projection.map { FieldMask($0.lazy.filter { !$0.isDocumentID }) }
        self.query.select(added)
    }

    /// - Returns: nil after the last page.
    mutating func next() async throws(DocumentError) -> [DocumentSnapshot]? {
        while left != 0 {
            let limit = min(size, left ?? .max)
            query.limit = limit
            let documents: [DocumentModel.Document]
            do throws(DocumentError) {
                documents = try await firestore.transport.query(query).documents
            } catch {
                // Fewer documents may fit in one answer.
                guard error.code == .resourceExhausted, limit > 1 else { throw error }
                size = (limit + 1) / 2
                continue
            }
            // Those behind them may be smaller.
            if documents.count == limit { size = min(most, size &* 2) }
            left = documents.count < limit ? 0 : left.map { $0 - documents.count }
            query.offset = 0
            if let last = documents.last { query.start = try cursor(after: last) }
            return documents.map(snapshot)
        }
        return nil
    }

    private func cursor(
        after document: DocumentModel.Document
    ) throws(DocumentError) -> DocumentModel.Query.Cursor {
        var values: [Value] = []
        for order in query.orderBy {
            if order.field.isDocumentID {
                let name = DocumentName(database: firestore.transport.database, path: document.path)
                values.append(.reference(name))
            } else if let value = document[order.field] {
                values.append(value)
            } else {
                throw DocumentError(
                    .internal, "the store returned \(document.path) without \(order.field), which it is ordered by")
            }
        }
        return .init(values: values, before: false)
    }

    private func snapshot(_ document: DocumentModel.Document) -> DocumentSnapshot {
        guard let mask else { return DocumentSnapshot(document, firestore: firestore) }
        var document = document
        document.fields = mask.applied(to: document.fields)
        return DocumentSnapshot(document, firestore: firestore)
    }
}

extension DocumentModel.Query {
    /// The fields that it is ordered by and doesn't return, because others are selected.
    fileprivate var unselectedOrders: [FieldPath] {
        guard let projection else { return [] }
        return orderBy.map(\.field).filter { field in
            !field.isDocumentID && !projection.contains { $0.contains(field) }
        }
    }

    /// Selects further fields.
    fileprivate mutating func select(_ added: [FieldPath]) {
        guard let projection, !added.isEmpty else { return }
        self.projection =
            projection.filter { field in !field.isDocumentID && !added.contains { $0.contains(field) } } + added
    }
}

extension FieldPath {
    /// Whether a path is this one, or leads into this field.
    fileprivate func contains(_ path: FieldPath) -> Bool {
        path.segments.count >= segments.count
            && FieldPath(segments: Array(path.segments.prefix(segments.count))) == self
    }
}
