import CommitPipeline
import StorageEngine
import DocumentModel
import Synchronization

/// What a read of the past knows about changes without the log: the store's recent changes, and the documents that it
/// is about to read, so that one scan of the log finds them all.
///
/// The store's recent changes may be newer than the snapshot; those aren't in the snapshot's log.
final class PastLookup {
    private let parts: DocumentParts
    private let expected: Set<DocumentPath>
    /// Counts what is looked at in the log.
    private let meter: QueryMeter
    /// The rows found for the expected documents; nil before the search.
    private var rows: [[UInt8]: [UInt8]]?

    init(_ parts: DocumentParts, _ expected: Set<DocumentPath>, _ meter: QueryMeter = QueryMeter()) {
        self.parts = parts
        self.expected = expected
        self.meter = meter
    }

    /// An upper bound for the version of a document's last change.
    func newest(of path: DocumentPath) -> Int64 { parts.transactions.withLock { $0.changes.newest(of: path) } }

    /// A range of versions that contains all changes after a version that may concern a query; nil if there are none.
    func span(of query: NormalizedQuery, after version: Int64) -> ClosedRange<Int64>? {
        parts.transactions.withLock { $0.changes.span(of: query, after: version) }
    }

    /// The row of the first change of a document after a version.
    func firstRow(
        _ path: DocumentPath, _ key: [UInt8], after version: Int64, upTo last: Int64?, in view: DocumentView
    ) throws -> [UInt8]? {
        guard expected.contains(path) else {
            return try find([key], after: version, upTo: last, in: view)[key]
        }
        if rows == nil { rows = try findAll(after: version, in: view) }
        return rows?[key]
    }

    private func findAll(after version: Int64, in view: DocumentView) throws -> [[UInt8]: [UInt8]] {
        var keys: Set<[UInt8]> = []
        var end = version
        for path in expected {
            let key = DocumentKeys.key(of: path)
            guard case .scan(let last) = try view.walk(path, key, to: version) else { continue }
            keys.insert(key)
            end = max(end, last ?? .max - 1)
        }
        return try find(keys, after: version, upTo: end, in: view)
    }

    private func find(
        _ keys: Set<[UInt8]>, after version: Int64, upTo last: Int64?, in view: DocumentView
    ) throws -> [[UInt8]: [UInt8]] {
        try ChangeLog.firstRows(keys, after: version, upTo: last, in: view.storage) { try meter.readEntries() }
    }
}
