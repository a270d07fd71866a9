@testable import CommitPipeline
import StorageEngine
import DocumentModel
@testable import DocumentStore
import Synchronization
import Testing

/// An engine whose power fails: from a batch on nothing is stored any more, as after a kill.
final class PowerCutEngine: StorageEngine {
    struct PowerCut: Error {}

    private let engine: any StorageEngine
    private let left: Atomic<Int>

    init(_ engine: any StorageEngine, afterBatches batches: Int) {
        self.engine = engine
        left = Atomic(batches)
    }

    func makeReadSession() throws -> any ReadSession { try engine.makeReadSession() }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try engine.write { storage in
            let result = try body(storage)
            guard left.subtract(1, ordering: .relaxed).newValue >= 0 else {
                throw StorageError(.unavailable, "the power is cut")
            }
            return result
        }
    }

    func close() throws {}
}

/// What an engine's tables hold, and what they should.
struct IndexInspection {
    let catalog: IndexCatalog
    let documents: [Document]
    /// Keys with their rows.
    let entries: [[UInt8]: [UInt8]]

    init(_ engine: any StorageEngine) throws {
        (catalog, documents, entries) = try engine.makeReadSession().read { reader in
            let generation = try StoreVersion.readRow(reader).generations[DocumentWriter.self]
            var documents: [Document] = []
            try reader.scan(.documents, .all, reverse: false) { key, bytes in
                documents.append(
                    try StoredDocument.decode(bytes, path: try DocumentPath(DocumentKeys.path(of: key))))
                return true
            }
            var entries: [[UInt8]: [UInt8]] = [:]
            try reader.scan(.index, .all, reverse: false) { key, row in
                entries[key] = row
                return true
            }
            return (try IndexCatalog.read(reader, generation: generation ?? 0), documents, entries)
        }
    }

    /// Whether the entries are what the catalog says, no more and no less.
    func isExact() -> Bool { entries == rows { IndexEntries.all(of: $0, catalog) } }

    /// What is wrong in the midst of changes: all that a query may look for must be there, and nothing stray.
    func problems() -> [String] {
        var problems: [String] = []
        if !catalog.isRebuilding {
            for (key, row) in rows(served) where entries[key] != row { problems.append("there is no \(key)") }
        }
        let possible = rows(possible)
        let dropping = catalog.indexes.filter { $0.state == .dropping }
            .map { CompositeKey.prefix(index: $0.id, collection: nil) }
        for (key, row) in entries where possible[key] != row && !dropping.contains(where: key.starts(with:)) {
            problems.append("\(key) is stray")
        }
        return problems
    }

    private func rows(_ entries: (Document) -> [IndexEntry]) -> [[UInt8]: [UInt8]] {
        var rows: [[UInt8]: [UInt8]] = [:]
        for document in documents {
            for entry in entries(document) { rows[entry.key] = entry.row }
        }
        return rows
    }

    private func served(_ document: Document) -> [IndexEntry] {
        var entries = IndexEntries(document.path)
        let indexes = catalog.of(document.path)
        entries.append(document.fields, indexes?.served)
        for index in indexes?.ready ?? [] { entries.append(document.fields, index) }
        return entries.entries + [IndexEntries.groupEntry(of: document.path)].compactMap { $0 }
    }

    private func possible(_ document: Document) -> [IndexEntry] {
        var entries = IndexEntries(document.path)
        entries.append(document.fields, nil)
        for index in catalog.indexes
        where index.definition.collectionID == document.path.parent.id {
            entries.append(document.fields, index)
        }
        return entries.entries + [IndexEntries.groupEntry(of: document.path)].compactMap { $0 }
    }
}
