import DocumentModel

/// A commit's changes, and for each the stored state before, which the change log gets.
struct ComputedCommit: Sendable {
    var outcome: WriteOutcome
    let stored: [StoredState?]
    /// Those of each change, if they were made before the writer.
    private var rows: [ChangedRows] = []
    /// That of the indexes that they were made for.
    private var generation: Int64?
    /// Counts it while it waits for the writer.
    private var held: HeldBytes?

    /// Up to this weight of the documents before, and as much after, their rows are made before the writer: each value
    /// has an index entry, which may take much more memory than the value.
    private static let maxRowsWeight = 64 * 1024

    /// Whether the rows were made before the writer.
    var hasRows: Bool { generation != nil }

    /// - Parameter states: of those that were read for it, of which only the changed ones are kept.
    init(_ outcome: WriteOutcome, _ states: [DocumentPath: StoredState]) {
        self.outcome = outcome
        stored = outcome.changes.map { states[$0.path] }
    }

    /// What a change writes.
    func rows(of number: Int, _ catalog: IndexCatalog) -> ChangedRows {
        generation == catalog.generation ? rows[number] : ChangedRows(outcome.changes[number], catalog)
    }

    /// Makes the rows, so that the one writer needn't; those of large documents are left to it.
    mutating func makeRows(_ catalog: IndexCatalog) {
        // Also the entries that go take time and memory: a deletion has one for each value that there was.
        let before = stored.reduce(0) { $0 + ($1?.weight ?? 0) }
        guard max(before, outcome.weights.reduce(0, +)) <= Self.maxRowsWeight else { return }
        rows = outcome.changes.map { ChangedRows($0, catalog) }
        generation = catalog.generation
    }

    /// Counts what it takes while it waits for the writer. If that is too much with its rows, they are left to the writer.
    ///
    /// - Returns: false if all together would hold more than they may.
    mutating func hold(in parts: DocumentParts) -> Bool {
        // Many small values take a multiple of what is stored. What is written is the request's.
        let states = stored.reduce(0) { $0 + ($1?.bytes?.count ?? 0) + ($1?.weight ?? 0) }
        held = HeldBytes(rows.reduce(states) { $0 + $1.bytes }, of: parts)
        if held == nil, hasRows {
            (rows, generation) = ([], nil)
            held = HeldBytes(states, of: parts)
        }
        return held != nil
    }
}

/// What a change of a document writes, except for the times of the commit.
struct ChangedRows: Sendable {
    /// Nil if the document is deleted.
    let draft: StoredDocument.Draft?
    let index: IndexChanges

    init(_ change: DocumentChange, _ catalog: IndexCatalog) {
        draft = (change.after?.fields).map(StoredDocument.Draft.init)
        index = IndexChanges(of: change.path, from: change.before?.fields, to: change.after?.fields, catalog)
    }

    /// About the memory that they take.
    var bytes: Int { (draft?.count ?? 0) + index.bytes }
}

/// Bytes that are held until this is released.
private final class HeldBytes: Sendable {
    private let bytes: Int
    private let total: DocumentParts

    /// - Returns: nil if all together would hold more than they may.
    init?(_ bytes: Int, of total: DocumentParts) {
        // Before the properties are set: once all are, `deinit` runs also if this returns nil.
        guard total.hold(bytes) else { return nil }
        self.bytes = bytes
        self.total = total
    }

    deinit { total.release(bytes) }
}
