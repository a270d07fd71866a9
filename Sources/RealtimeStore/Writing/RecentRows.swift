import CommitPipeline
import StorageEngine

/// Which rows recent commits have changed, against which the reads of checks are validated. Bounded: the oldest
/// commits are forgotten first.
///
/// Used on the writer's thread.
struct RecentRows {
    private struct Entry: Sendable {
        var version: Int64
        var namespace: String
        var rows: [(path: [UInt8], isStructural: Bool)]
        /// Ranges in which any row may have changed.
        var ranges: [KeyRange]
    }

    private var entries = IndexedQueue<Entry>()
    private var rowCount = 0
    /// All changes after this version are here.
    private var floor: Int64
    private let maxRows: Int
    /// A commit that changes more rows is remembered by the range that has them.
    private static let maxRowsOfCommit = 256
    /// More changes aren't looked at: checking again costs less.
    private static let maxLooked = 4_096

    init(floor: Int64, maxRows: Int = 50_000) {
        self.floor = floor
        self.maxRows = maxRows
    }

    mutating func append(_ changes: RowChanges, in namespace: String, version: Int64) {
        var entry = Entry(version: version, namespace: namespace, rows: [], ranges: changes.hidden)
        if changes.count > Self.maxRowsOfCommit, let range = changes.range {
            entry.ranges.append(range)
        } else {
            entry.rows = changes.all.map { ($0.path, $0.isStructural) }
        }
        rowCount += entry.rows.count + entry.ranges.count + 1
        entries.append(entry)
        while rowCount > maxRows, let oldest = entries.popFirst() {
            rowCount -= oldest.rows.count + oldest.ranges.count + 1
            floor = oldest.version
        }
    }

    /// Whether something that was read at a version has changed since, as far as is known.
    func mayHaveChanged(_ notes: ReadNotes, in namespace: String, after version: Int64) -> Bool {
        guard version >= floor else { return true }
        var looked = 0
        let newer = entries.firstPosition { $0.version > version }..<entries.positions.upperBound
        for position in newer {
            guard let entry = entries[position], entry.namespace == namespace else { continue }
            looked += entry.rows.count + entry.ranges.count
            if looked > Self.maxLooked || Self.concerns(entry, notes) { return true }
        }
        return false
    }

    private static func concerns(_ entry: Entry, _ notes: ReadNotes) -> Bool {
        for row in entry.rows {
            if notes.paths.contains(row.path) { return true }
            for noted in notes.ranges where row.isStructural || !noted.pathsOnly {
                if noted.range.contains(row.path) { return true }
            }
        }
        return entry.ranges.contains { range in
            notes.paths.contains { range.contains($0) } || notes.ranges.contains { $0.range.intersection(range) != nil }
        }
    }

    /// Forgets the changes after a version, because they were rolled back.
    mutating func rollBack(to version: Int64) {
        while let position = entries.positions.last, let entry = entries[position], entry.version > version {
            _ = entries.popLast()
            rowCount -= entry.rows.count + entry.ranges.count + 1
        }
        floor = min(floor, version)
    }
}
