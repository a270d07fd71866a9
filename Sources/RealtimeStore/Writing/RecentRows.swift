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

        var count: Int { rows.count + ranges.count + 1 }

        /// The approximate size in bytes.
        var bytes: Int {
            rows.reduce(64 * count) { $0 + $1.path.count }
                + ranges.reduce(0) { $0 + $1.lower.count + ($1.upper?.count ?? 0) }
        }
    }

    private var entries = IndexedQueue<Entry>()
    private var rowCount = 0
    private var bytes = 0
    /// All changes after this version are here.
    private var floor: Int64
    private let maxRows: Int
    private let maxBytes: Int
    /// A commit that changes more rows is remembered by the range that has them.
    private static let maxRowsOfCommit = 256
    /// More changes, or ranges of notes, aren't looked at: checking again costs less.
    private static let maxLooked = 4_096

    init(floor: Int64, maxRows: Int = 50_000, maxBytes: Int = 32 * 1024 * 1024) {
        self.floor = floor
        self.maxRows = maxRows
        self.maxBytes = maxBytes
    }

    mutating func append(_ changes: RowChanges, in namespace: String, version: Int64) {
        var entry = Entry(version: version, namespace: namespace, rows: [], ranges: changes.hidden)
        if let adopted = changes.adopted { entry.ranges.append(adopted.range) }
        if changes.count > Self.maxRowsOfCommit, let range = changes.range {
            entry.ranges.append(range)
        } else {
            entry.rows = changes.all.map { ($0.path, $0.isStructural) }
        }
        rowCount += entry.count
        bytes += entry.bytes
        entries.append(entry)
        while rowCount > maxRows || bytes > maxBytes, let oldest = entries.popFirst() {
            remove(oldest)
            floor = oldest.version
        }
    }

    private mutating func remove(_ entry: Entry) {
        rowCount -= entry.count
        bytes -= entry.bytes
    }

    /// Whether something that was read at a version has changed since, as far as is known.
    func mayHaveChanged(_ notes: ReadNotes, in namespace: String, after version: Int64) -> Bool {
        guard version >= floor else { return true }
        var looked = 0
        var noted: Noted?
        let newer = entries.firstPosition { $0.version > version }..<entries.positions.upperBound
        for position in newer {
            guard let entry = entries[position], entry.namespace == namespace else { continue }
            looked += entry.rows.count + entry.ranges.count * (notes.paths.count + 1)
            guard looked <= Self.maxLooked, notes.ranges.count <= Self.maxLooked else { return true }
            let known = noted ?? Noted(notes)
            noted = known
            if known.concerns(entry) { return true }
        }
        return false
    }

    /// Notes as they are searched: a change isn't compared with each range.
    private struct Noted {
        let paths: Set<[UInt8]>
        /// The ranges in which replaced rows matter.
        let rows: RangeUnion
        /// The ranges in which added and removed rows matter: all of them.
        let all: RangeUnion

        init(_ notes: ReadNotes) {
            paths = notes.paths
            rows = RangeUnion(notes.ranges.lazy.filter { !$0.pathsOnly }.map(\.range))
            all = RangeUnion(notes.ranges.lazy.map(\.range))
        }

        func concerns(_ entry: Entry) -> Bool {
            for row in entry.rows {
                if paths.contains(row.path) || (row.isStructural ? all : rows).contains(row.path) { return true }
            }
            return entry.ranges.contains { range in all.intersects(range) || paths.contains { range.contains($0) } }
        }
    }

    /// Forgets the changes after a version, because they were rolled back.
    mutating func rollBack(to version: Int64) {
        while let position = entries.positions.last, let entry = entries[position], entry.version > version {
            _ = entries.popLast()
            remove(entry)
        }
        floor = min(floor, version)
    }
}
