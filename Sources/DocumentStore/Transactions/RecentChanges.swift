import DocumentModel

/// What changed lately, against which transactions are validated. Bounded: the oldest is forgotten first.
struct RecentChanges: Sendable {
    private struct Entry {
        var version: Int64
        var change: DocumentChange
        var bytes: Int
    }

    /// In the order of their versions; those before `head` are forgotten.
    private var entries: [Entry] = []
    private var head = 0
    private var bytes = 0
    private var lastVersions: [DocumentPath: Int64] = [:]
    /// All changes after this version are here.
    private(set) var floor: Int64
    private let maxCount: Int
    private let maxBytes: Int

    init(floor: Int64, maxCount: Int, maxBytes: Int) {
        self.floor = floor
        self.maxCount = maxCount
        self.maxBytes = maxBytes
    }

    mutating func append(_ changes: [DocumentChange], version: Int64) {
        for change in changes {
            let size =
                128 + DocumentLimits.size(of: change.before?.fields ?? [:])
                + DocumentLimits.size(of: change.after?.fields ?? [:])
            entries.append(Entry(version: version, change: change, bytes: size))
            bytes += size
            lastVersions[change.path] = version
        }
        trim()
    }

    /// Whether a document changed after a version, which must not be below the floor.
    func hasChanged(_ path: DocumentPath, after version: Int64) -> Bool {
        lastVersions[path].map { $0 > version } ?? false
    }

    /// Whether a query's matches changed after a version: one came, went, or is another document now.
    func hasChanged(_ query: NormalizedQuery, after version: Int64) -> Bool {
        entries[first(after: version)...].contains { query.isChanged(by: $0.change) }
    }

    /// Documents as they were at a version, of those that changed after it and up to another.
    func past(at version: Int64, upTo snapshot: Int64) -> [DocumentPath: Document?] {
        var past: [DocumentPath: Document?] = [:]
        for entry in entries[first(after: version)...] {
            guard entry.version <= snapshot else { break }
            if past[entry.change.path] == nil { past[entry.change.path] = .some(entry.change.before) }
        }
        return past
    }

    /// Forgets what came after a version, because it was not kept.
    mutating func rollBack(to version: Int64) {
        let end = first(after: version)
        guard end < entries.count else { return }
        bytes -= entries[end...].reduce(0) { $0 + $1.bytes }
        entries.removeSubrange(end...)
        lastVersions = [:]
        for entry in entries[head...] { lastVersions[entry.change.path] = entry.version }
    }

    private func first(after version: Int64) -> Int {
        var (low, high) = (head, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].version > version { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private mutating func trim() {
        while entries.count - head > maxCount || (bytes > maxBytes && head < entries.count) {
            let entry = entries[head]
            floor = entry.version
            bytes -= entry.bytes
            if lastVersions[entry.change.path] == entry.version { lastVersions[entry.change.path] = nil }
            // The documents are let go now, the slot later.
            entries[head].change.before = nil
            entries[head].change.after = nil
            head += 1
        }
        if head > 1024, head > entries.count / 2 {
            entries.removeFirst(head)
            head = 0
        }
    }
}
