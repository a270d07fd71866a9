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
    func apply(_ change: DocumentChange) throws {
        let (before, after) = (change.before?.fields ?? [:], change.after?.fields ?? [:])
        let key = DocumentKeys.key(of: change.path)
        if let document = change.after {
            try put(.documents, key, StoredDocument.encode(document))
        } else {
            try delete(.documents, key)
        }
        let old = IndexEntries.of(before.filter { after[$0.key] != $0.value }, path: change.path)
        let new = IndexEntries.of(after.filter { before[$0.key] != $0.value }, path: change.path)
        for entry in old where !new.contains(entry) { try delete(.index, entry.key) }
        for entry in new where !old.contains(entry) { try put(.index, entry.key, entry.row) }
        if (change.before == nil) != (change.after == nil), let entry = IndexEntries.groupEntry(of: change.path) {
            if change.after == nil {
                try delete(.index, entry.key)
            } else {
                try put(.index, entry.key, entry.row)
            }
        }
    }
}
