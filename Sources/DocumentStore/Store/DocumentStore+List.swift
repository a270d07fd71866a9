import CommitPipeline
import StorageEngine
package import DocumentModel

extension DocumentStore {
    /// A page's token is its last id.
    package func list(
        _ page: DocumentListing, in context: OperationContext, completion: @escaping Completion<ListingAnswer>
    ) {
        list(in: context, completion) { [parts] view in
            let place = ListedIDs.parents(in: page.collection)
            let listing = IDListing(place, after: page.token, in: view, parts.meter(context))
            // One more says whether another page follows.
            let ids = try listing.pageWithDocuments(of: page.collection, after: page.token, atMost: page.limit + 1)
            let found = Array(ids.prefix(page.limit))
            return ListingAnswer(ids: found, next: ids.count > found.count ? found.last : nil)
        }
    }

    /// In the order of the keys: the documents of a collection come before those below them.
    package func descendants(
        _ page: Descendants, in context: OperationContext, completion: @escaping Completion<[DocumentPath]>
    ) {
        list(in: context, completion) { view in
            var prefix: [UInt8] = []
            if let parent = page.parent { DocumentKeys.append(parent.string, to: &prefix) }
            if let id = page.collectionID { DocumentKeys.append(id, to: &prefix) }
            // Nothing lies between a key and itself with a zero.
            let lower = page.after.map { DocumentKeys.key(of: $0) + [0] } ?? prefix
            var paths: [DocumentPath] = []
            guard page.limit > 0 else { return paths }
            // Documents that are damaged are listed, too: those behind one couldn't be found otherwise.
            try view.storage.scanKeys(
                .documents, KeyRange(lower: lower, upper: KeyBytes.successor(ofPrefix: prefix)), reverse: false
            ) { key in
                paths.append(try DocumentKeys.checkedPath(of: key))
                return paths.count < page.limit
            }
            return paths
        }
    }

    /// Answers an admin's listing.
    private func list<Answer: Sendable>(
        in context: OperationContext, _ completion: @escaping Completion<Answer>,
        _ answer: @escaping @Sendable (DocumentView) throws -> Answer
    ) {
        guard context.policy == nil else {
            return completion(.failure(DocumentError(.permissionDenied, "Missing or insufficient permissions.")))
        }
        submit(
            ViewRead(store: self, context: context, caller: .maintenance, completion: completion) { view, _ in
                try answer(view)
            })
    }

    /// The paths of some documents anywhere in the store; none if the store is empty.
    ///
    /// For admins only: no policy is checked. A key that isn't the one of its document is an error: what deletes these
    /// documents until none is left would find it for ever.
    ///
    /// - Parameter last: the document after which they begin; nil for the first ones.
    package func paths(
        atMost limit: Int, after last: DocumentPath? = nil,
        completion: @escaping @Sendable (Result<[DocumentPath], DocumentError>) -> Void
    ) {
        view(completion) { view, _ in
            var range = KeyRange.all
            if let last { range.lower = DocumentKeys.key(of: last) + [0] }
            var paths: [DocumentPath] = []
            try view.storage.scanKeys(.documents, range, reverse: false) { key in
                paths.append(try DocumentKeys.checkedPath(of: key))
                return paths.count < limit
            }
            return paths
        }
    }

    /// Answers from a snapshot, on a thread for maintenance.
    func view<Answer: Sendable>(
        _ completion: @escaping Completion<Answer>,
        _ answer: @escaping @Sendable (DocumentView, Timestamp) throws -> Answer
    ) {
        submit(
            ViewRead(store: self, caller: .maintenance, completion: completion) { view, version in
                try answer(view, Timestamp(microseconds: version))
            })
    }
}
