import CommitPipeline
import StorageEngine
package import DocumentModel

extension DocumentStore {
    /// The ids of the collections below a document, or at the root, that hold documents or have documents somewhere
    /// below.
    ///
    /// For admins only: no policy is checked.
    package func listCollectionIDs(
        parent: DocumentPath? = nil,
        completion: @escaping @Sendable (Result<[String], DocumentError>) -> Void
    ) {
        view(completion) { view, _ in
            var prefix: [UInt8] = []
            if let parent { DocumentKeys.append(parent.string, to: &prefix) }
            var ids: [String] = []
            // A segment never starts with 0, but the keys of the collection's own documents do: these aren't
            // collections.
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

    /// The paths of some documents anywhere in the store; none if the store is empty.
    ///
    /// For admins only: no policy is checked. A key that isn't the one of its document is an error: what deletes these
    /// documents until none is left would find it for ever.
    package func paths(
        atMost limit: Int, completion: @escaping @Sendable (Result<[DocumentPath], DocumentError>) -> Void
    ) {
        view(completion) { view, _ in
            var paths: [DocumentPath] = []
            try view.storage.scan(.documents, KeyRange.all, reverse: false) { key, _ in
                let name = DocumentKeys.path(of: key)
                guard let path = try? DocumentPath(name), DocumentKeys.key(of: path) == key else {
                    throw DecodingFailure("the key of \"\(name)\" is not the one of its name")
                }
                paths.append(path)
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
