import CommitPipeline
import StorageEngine
import DocumentModel

extension StorageWriter {
    /// - Throws: `StorageError`; the batch must not be kept then.
    func apply(_ changes: IndexChanges) throws {
        for key in changes.gone { try delete(.index, key) }
        for entry in changes.put { try put(.index, entry.key, entry.row) }
    }

    /// Adds the entries that a document lacks, and removes those that its fields no longer have, within a pass's scope.
    func completeEntries(of document: Document, _ catalog: IndexCatalog, _ pass: IndexPass) throws {
        guard pass.scope != .everything else {
            for entry in IndexEntries.all(of: document, catalog) { try put(.index, entry.key, entry.row) }
            return
        }
        guard let indexes = catalog.of(document.path) else { return }
        var old = IndexEntries(document.path)
        var new = old
        if !pass.fields.isEmpty {
            old.append(document.fields, indexes.possible)
            new.append(document.fields, indexes.kept)
            let kept = new.byKey
            for entry in old.entries where kept[entry.key] == nil { try delete(.index, entry.key) }
        }
        for index in indexes.written where pass.indexes.contains(index.id) { new.append(document.fields, index) }
        for entry in new.entries { try put(.index, entry.key, entry.row) }
    }
}
