import CommitPipeline
import StorageEngine
import DocumentModel

extension StorageWriter {
    /// Updates a document's index entries from one state to the next, and writes only those that differ.
    ///
    /// - Parameters:
    ///   - before: the fields before the change; nil if the document didn't exist.
    ///   - after: the fields after it; nil if the document is deleted.
    /// - Throws: `StorageError`; the batch must not be kept then.
    func updateEntries(
        of path: DocumentPath, from before: [String: Value]?, to after: [String: Value]?, _ catalog: IndexCatalog
    ) throws {
        let indexes = catalog.of(path)
        let (gone, come) = differences(before ?? [:], after ?? [:])
        var old = IndexEntries(path)
        var new = old
        old.append(gone, indexes?.possible)
        new.append(come, indexes?.kept)
        for index in indexes?.written ?? [] {
            let isTouched = index.definition.fields.contains {
                gone[$0.path.segments[0]] != nil || come[$0.path.segments[0]] != nil
            }
            guard isTouched else { continue }
            if let before { old.append(before, index) }
            if let after { new.append(after, index) }
        }
        try replace(old, by: new)
        if (before == nil) != (after == nil), let entry = IndexEntries.groupEntry(of: path) {
            if after == nil {
                try delete(.index, entry.key)
            } else {
                try put(.index, entry.key, entry.row)
            }
        }
    }

    /// The fields that differ, before and after.
    private func differences(
        _ before: [String: Value], _ after: [String: Value]
    ) -> (gone: [String: Value], come: [String: Value]) {
        guard !before.isEmpty, !after.isEmpty else { return (before, after) }
        var (gone, come): ([String: Value], [String: Value]) = ([:], [:])
        var common = 0
        for (name, value) in after {
            let old = before[name]
            if old != nil { common += 1 }
            guard old != value else { continue }
            gone[name] = old
            come[name] = value
        }
        guard common < before.count else { return (gone, come) }
        for (name, value) in before where after[name] == nil { gone[name] = value }
        return (gone, come)
    }

    private func replace(_ old: IndexEntries, by new: IndexEntries) throws {
        guard !old.entries.isEmpty else {
            for entry in new.entries { try put(.index, entry.key, entry.row) }
            return
        }
        var (old, new) = (old.sorted[...], new.sorted[...])
        while let first = old.first ?? new.first {
            guard let next = new.first, first.key == next.key || next.key.lexicographicallyPrecedes(first.key) else {
                try delete(.index, first.key)
                old.removeFirst()
                continue
            }
            new.removeFirst()
            if let same = old.first, same.key == next.key {
                old.removeFirst()
                if same.flags == next.flags { continue }
            }
            try put(.index, next.key, next.row)
        }
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
