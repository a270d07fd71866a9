package import DocumentModel

/// A page of a collection's documents by id.
package struct DocumentPage: Hashable, Sendable {
    package var documents: [Document]
    /// The id to go on after; nil at the end.
    package var nextAfter: String?
    package var readTime: Timestamp
}

extension DocumentStore {
    /// Lists a collection by document id.
    ///
    /// - Parameters:
    ///   - pageSize: 1...1000; others are brought within.
    ///   - after: the id that the page before ended with.
    package func listDocuments(
        in collection: CollectionPath, pageSize: Int = 100, after: String? = nil,
        context: OperationContext = OperationContext(),
        completion: @escaping @Sendable (Result<DocumentPage, DocumentError>) -> Void
    ) {
        let size = min(max(pageSize, 1), 1000)
        view(completion) { view, time in
            var query = Query(parent: collection.parent, collectionID: collection.id)
            query.limit = size + 1
            if let after { query.start = Query.Cursor(values: [.string(after)], before: false) }
            try context.policy?.check(.list(query), in: self.accessView(view))
            let documents = try NormalizedQuery(query).run(in: view)
            let next = documents.count > size ? documents[size - 1].path.id : nil
            return DocumentPage(documents: Array(documents.prefix(size)), nextAfter: next, readTime: time)
        }
    }

    /// The ids of the collections below a document, or at the root, that hold documents or lead to some.
    ///
    /// For admins only: no policy is asked.
    package func listCollectionIDs(
        parent: DocumentPath? = nil,
        completion: @escaping @Sendable (Result<[String], DocumentError>) -> Void
    ) {
        view(completion) { view, _ in
            var prefix: [UInt8] = []
            if let parent { DocumentKeys.append(parent.string, to: &prefix) }
            var ids: [String] = []
            // A segment never starts with 0, and the documents of a collection do: they are no collections.
            var lower = prefix + [1]
            let upper = KeyBytes.successor(ofPrefix: prefix)
            while true {
                var segment: [UInt8]?
                try view.storage.scan(
                    .documents, KeyRange(lower: lower, upper: upper), reverse: false
                ) { key, _ in
                    segment = Array(key[prefix.count...].prefix { $0 != 0 })
                    return false
                }
                guard let segment, let next = KeyBytes.successor(ofPrefix: prefix + segment + [0]) else { break }
                ids.append(DocumentKeys.text(of: segment[...]))
                lower = next
            }
            return ids
        }
    }

    /// The paths of some documents, wherever they stand; none where the store is empty.
    ///
    /// For admins only: no policy is asked.
    package func paths(
        atMost limit: Int, completion: @escaping @Sendable (Result<[DocumentPath], DocumentError>) -> Void
    ) {
        view(completion) { view, _ in
            var paths: [DocumentPath] = []
            try view.storage.scan(.documents, KeyRange(lower: [], upper: nil), reverse: false) { key, _ in
                paths.append(try DocumentPath(DocumentKeys.path(of: key)))
                return paths.count < limit
            }
            return paths
        }
    }

    /// Answers from a snapshot, on a reader thread.
    func view<Answer>(
        _ completion: @escaping @Sendable (Result<Answer, DocumentError>) -> Void,
        _ body: @escaping @Sendable (DocumentView, Timestamp) throws -> Answer
    ) {
        let taken = reads.put(
            .view { result in
                completion(
                    result.flatMap { view, time in
                        Result { try body(view, time) }.mapError(DocumentError.init(from:))
                    })
            })
        if !taken { completion(.failure(Self.shutDown)) }
    }
}
