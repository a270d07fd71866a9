import CommitPipeline
import StorageEngine
import DocumentModel
import Synchronization

/// What a read of the past knows of changes without the log: those that the store remembers, and which documents it is
/// about to read, so that one scan of the log finds them all.
///
/// The store may remember newer changes than a snapshot holds; those are not in its log.
final class PastLookup {
    private let parts: DocumentParts
    private let expected: Set<DocumentPath>
    /// The rows that were found for documents that are expected; nil before they are looked for.
    private var rows: [[UInt8]: [UInt8]]?

    init(_ parts: DocumentParts, _ expected: Set<DocumentPath>) {
        self.parts = parts
        self.expected = expected
    }

    /// No change of a document is newer than this.
    func newest(of path: DocumentPath) -> Int64 { parts.transactions.withLock { $0.changes.newest(of: path) } }

    /// Between which versions the changes after one are that may have to do with a query; nil where there are none.
    func span(of query: NormalizedQuery, after version: Int64) -> ClosedRange<Int64>? {
        parts.transactions.withLock { $0.changes.span(of: query, after: version) }
    }

    /// The row of the first change of a document after a version.
    func firstRow(
        _ path: DocumentPath, _ key: [UInt8], after version: Int64, upTo last: Int64?, in view: DocumentView
    ) throws -> [UInt8]? {
        guard expected.contains(path) else {
            return try ChangeLog.firstRows([key], after: version, upTo: last, in: view.storage)[key]
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
        return try ChangeLog.firstRows(keys, after: version, upTo: end, in: view.storage)
    }
}
