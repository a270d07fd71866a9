import DocumentModel

/// How a document's index entries change from one state to the next: only those that differ.
struct IndexChanges: Sendable {
    /// The keys of those that it has no longer.
    private(set) var gone: [[UInt8]] = []
    /// Those that are new, or have another row.
    private(set) var put: [IndexEntry] = []

    /// - Parameters:
    ///   - before: the fields before the change; nil if the document didn't exist.
    ///   - after: the fields after it; nil if the document is deleted.
    init(
        of path: DocumentPath, from before: [String: Value]?, to after: [String: Value]?, _ catalog: IndexCatalog
    ) {
        let indexes = catalog.of(path)
        let (fieldsGone, fieldsCome) = Self.differences(before ?? [:], after ?? [:])
        var old = IndexEntries(path)
        var new = old
        old.append(fieldsGone, indexes?.possible)
        new.append(fieldsCome, indexes?.kept)
        for index in indexes?.written ?? [] {
            let isTouched = index.definition.fields.contains {
                let name = $0.path.segments[0]
                return fieldsGone[name] != nil || fieldsCome[name] != nil
            }
            guard isTouched else { continue }
            if let before { old.append(before, index) }
            if let after { new.append(after, index) }
        }
        compare(old, new)
        if (before == nil) != (after == nil), let entry = IndexEntries.groupEntry(of: path) {
            if after == nil { gone.append(entry.key) } else { put.append(entry) }
        }
    }

    /// About the memory that they take.
    var bytes: Int { gone.reduce(0) { $0 + $1.count + 32 } + put.reduce(0) { $0 + $1.key.count + 64 } }

    /// The fields that differ, before and after.
    private static func differences(
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

    private mutating func compare(_ old: IndexEntries, _ new: IndexEntries) {
        guard !old.entries.isEmpty else {
            put = new.entries
            return
        }
        var (old, new) = (old.sorted[...], new.sorted[...])
        while let first = old.first ?? new.first {
            guard let next = new.first, first.key == next.key || next.key.lexicographicallyPrecedes(first.key) else {
                gone.append(first.key)
                old.removeFirst()
                continue
            }
            new.removeFirst()
            if let same = old.first, same.key == next.key {
                old.removeFirst()
                if same.flags == next.flags { continue }
            }
            put.append(next)
        }
    }
}
