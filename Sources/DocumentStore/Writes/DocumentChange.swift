import DocumentModel

/// A document before and after a commit; nil where there is none.
struct DocumentChange: Sendable {
    var path: DocumentPath
    var before: Document?
    var after: Document?
}

extension StorageWriter {
    /// Stores a change and the index entries that differ.
    ///
    /// - Throws: `StorageError`; then the batch must not be kept.
    func apply(_ change: DocumentChange, _ catalog: IndexCatalog) throws {
        let key = DocumentKeys.key(of: change.path)
        if let document = change.after {
            try put(.documents, key, StoredDocument.encode(document))
        } else {
            try delete(.documents, key)
        }
        try updateEntries(of: change.path, from: change.before?.fields, to: change.after?.fields, catalog)
    }
}
