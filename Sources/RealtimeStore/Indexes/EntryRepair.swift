import DocumentModel
import RealtimeModel
package import StorageEngine

/// Makes the entries of a namespace's indexes agree with its nodes, some rows in each step.
struct EntryRepair {
    private let layout: TreeLayout
    private let rows: TreeRows
    private let audit: EntryAudit
    private let storage: any StorageWriter

    init(_ record: NamespaceRecord, _ storage: any StorageWriter) {
        layout = record.layout
        rows = TreeRows(storage: storage, layout: record.layout)
        audit = EntryAudit(rows, record.indexes)
        self.storage = storage
    }

    /// - Parameters:
    ///   - position: the path of the last row that was looked at; nil at the beginning.
    ///   - limit: how many rows are looked at.
    /// - Returns: the path of the last row that was looked at now, nil if there are no others, and how many entries were
    ///   changed.
    func step(after position: [UInt8]?, atMost limit: Int) throws -> (next: [UInt8]?, changed: Int) {
        var wrong: [[UInt8]] = []
        var missing: [[UInt8]] = []
        var reader = TreePathReader()
        var previous = RealtimePath.root
        var last: [UInt8] = []
        var looked = 0
        try rows.scan(KeyRange(lower: position.map { $0 + [0] } ?? [], upper: nil)) { bytes, row in
            looked += 1
            last = Array(bytes)
            do {
                switch try reader.read(bytes) {
                case .node(let path):
                    let node = try StoredNode(row, at: bytes)
                    missing += try audit.missing(of: path, node.priority, after: previous).map(\.entry)
                    previous = path
                case .entry(let parent):
                    if try audit.problem(of: bytes, at: Array(parent)) != nil { wrong.append(last) }
                }
            } catch is DecodingFailure {
                // What entries a damaged node should have is unknown.
            }
            return looked < limit
        }
        for path in wrong { try storage.delete(.tree, key(of: path)) }
        for path in missing { try storage.put(.tree, key(of: path), []) }
        return (looked < limit ? nil : last, wrong.count + missing.count)
    }

    private func key(of path: [UInt8]) -> [UInt8] { TreeKey.stored(path, inTree: layout.tree(of: path)) }
}

extension RealtimeStore {
    /// What one commit looks at, so that other writers don't wait long.
    private static let maxRepairedRows = 2_000

    /// Adds the entries that indexes lack, and removes those that they shouldn't have, in short commits.
    ///
    /// Listeners to a query see what it finds now when they listen again, or when what they have changes.
    ///
    /// - Returns: how many entries were added or removed.
    /// - Throws: `CancellationError`, or `RealtimeFailure`.
    package func repairIndexes(until cancellation: BlockingWork.Cancellation) async throws -> Int {
        var repaired = 0
        for namespace in try await namespaces() {
            var position: [UInt8]?
            repeat {
                try cancellation.check()
                let (next, changed) = try await change { [position] kind, storage -> (next: [UInt8]?, changed: Int) in
                    guard let record = try? kind.record(of: namespace) else { return (nil, 0) }
                    return try EntryRepair(record, storage).step(after: position, atMost: Self.maxRepairedRows)
                }
                repaired += changed
                position = next
            } while position != nil
        }
        return repaired
    }
}
