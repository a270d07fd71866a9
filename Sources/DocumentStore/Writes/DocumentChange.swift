import StorageEngine
package import DocumentModel

/// A document before and after a commit; nil if it didn't or doesn't exist.
package struct DocumentChange: Hashable, Sendable {
    package var path: DocumentPath
    package var before: Document?
    package var after: Document?

    package init(path: DocumentPath, before: Document?, after: Document?) {
        self.path = path
        self.before = before
        self.after = after
    }
}

extension StorageWriter {
    /// Stores a change and the index entries that differ.
    ///
    /// - Parameters:
    ///   - key: the document's key.
    ///   - stored: the document after the change, as it is stored.
    /// - Throws: `StorageError`; the batch must not be kept then.
    func apply(_ change: DocumentChange, key: [UInt8], stored: [UInt8]?, _ catalog: IndexCatalog) throws {
        if let stored {
            try put(.documents, key, stored)
        } else {
            try delete(.documents, key)
        }
        try updateEntries(of: change.path, from: change.before?.fields, to: change.after?.fields, catalog)
    }
}
