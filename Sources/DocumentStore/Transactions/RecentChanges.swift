import CommitPipeline
import DocumentModel

/// Recent changes, against which transactions are validated. Bounded: the oldest are forgotten first.
struct RecentChanges: Sendable {
    /// One change as it is kept.
    struct Entry: Sendable {
        var version: Int64
        var change: DocumentChange
        var collection: CollectionPath
        var group: String
        var bytes: Int

        /// - Parameter storedBytes: the size of the document before and after the change, together.
        init(_ change: DocumentChange, version: Int64, storedBytes: Int) {
            self.version = version
            self.change = change
            collection = change.path.parent
            group = collection.id
            bytes = storedBytes + 256
        }
    }

    /// In the order of their versions.
    private var entries = IndexedQueue<Entry>()
    /// Positions of the entries of each collection, and of all collections of an id.
    private var collections: [CollectionPath: IndexedQueue<Int>] = [:]
    private var groups: [String: IndexedQueue<Int>] = [:]
    private var lastVersions: [DocumentPath: Int64] = [:]
    private(set) var bytes = 0
    /// All changes after this version are here.
    private(set) var floor: Int64
    private let maxCount: Int
    private let maxBytes: Int

    init(floor: Int64, maxCount: Int, maxBytes: Int) {
        self.floor = floor
        self.maxCount = maxCount
        self.maxBytes = maxBytes
    }

    mutating func append(_ changes: [Entry]) {
        for entry in changes {
            let position = entries.positions.upperBound
            collections[entry.collection, default: IndexedQueue()].append(position)
            groups[entry.group, default: IndexedQueue()].append(position)
            lastVersions[entry.change.path] = entry.version
            bytes += entry.bytes
            entries.append(entry)
        }
        trim()
    }

    /// One of the given documents that changed after a version, which must not be below the floor.
    ///
    /// Iterates over the changes or the documents, whichever are fewer.
    func changed(among documents: Set<DocumentPath>, after version: Int64) -> DocumentPath? {
        guard !documents.isEmpty else { return nil }
        let newer = entries.firstPosition { $0.version > version }..<entries.positions.upperBound
        guard newer.count < documents.count else {
            return documents.first { lastVersions[$0].map { $0 > version } ?? false }
        }
        for position in newer {
            if let path = entries[position]?.change.path, documents.contains(path) { return path }
        }
        return nil
    }

    /// An upper bound for the version of a document's last change.
    func newest(of path: DocumentPath) -> Int64 { lastVersions[path] ?? floor }

    /// A range of versions that contains all changes after a version that may concern a query; nil if there are none.
    func span(of query: NormalizedQuery, after version: Int64) -> ClosedRange<Int64>? {
        var known: ClosedRange<Int64>?
        if let (positions, places) = newer(for: query, after: version), !places.isEmpty,
            let first = positions[places.lowerBound].flatMap({ entries[$0] }),
            let last = positions[places.upperBound - 1].flatMap({ entries[$0] })
        {
            known = first.version...last.version
        }
        guard version < floor else { return known }
        return version + 1...max(known?.upperBound ?? floor, floor)
    }

    /// Whether a query's matches changed after a version: one was added, removed or replaced.
    func hasChanged(_ query: NormalizedQuery, after version: Int64) -> Bool {
        guard let (positions, newer) = newer(for: query, after: version) else { return false }
        for place in newer {
            if let position = positions[place], let entry = entries[position], query.isChanged(by: entry.change) {
                return true
            }
        }
        return false
    }

    /// How many comparisons ``hasChanged(_:after:)`` may take: each newer change with each of the query's conditions.
    func steps(toCheck query: NormalizedQuery, after version: Int64) -> Int {
        (newer(for: query, after: version)?.places.count ?? 0) * max(query.disjuncts.reduce(0) { $0 + $1.count }, 1)
    }

    /// The changes after a version in the query's collection or group.
    private func newer(
        for query: NormalizedQuery, after version: Int64
    ) -> (positions: IndexedQueue<Int>, places: Range<Int>)? {
        let positions = query.query.allDescendants ? groups[query.query.collectionID] : collections[query.collection]
        guard let positions else { return nil }
        let first = positions.firstPosition { position in entries[position].map { $0.version > version } ?? false }
        return (positions, first..<positions.positions.upperBound)
    }

    /// Forgets the changes after a version, because they were rolled back.
    mutating func rollBack(to version: Int64) {
        var lost: Set<DocumentPath> = []
        while let position = entries.positions.last, let entry = entries[position], entry.version > version {
            _ = entries.popLast()
            bytes -= entry.bytes
            lost.insert(entry.change.path)
            forget(&collections[entry.collection], fromEnd: true)
            forget(&groups[entry.group], fromEnd: true)
        }
        // Adding the lost changes may have raised the floor above the version; now no change is newer than it.
        floor = min(floor, version)
        guard !lost.isEmpty else { return }
        for path in lost { lastVersions[path] = nil }
        for position in entries.positions {
            guard let entry = entries[position], lost.contains(entry.change.path) else { continue }
            lastVersions[entry.change.path] = entry.version
        }
    }

    /// The version of the last change; nil if none is remembered.
    var newest: Int64? { entries.positions.last.flatMap { entries[$0]?.version } }

    /// Forgets the oldest changes, up to a version, until no more than these bytes are left.
    mutating func forget(upTo version: Int64, beyond maxBytes: Int) {
        while bytes > maxBytes, let first = entries.first, first.version <= version { removeFirst() }
    }

    private mutating func trim() {
        while entries.count > maxCount || (bytes > maxBytes && !entries.isEmpty) { removeFirst() }
    }

    private mutating func removeFirst() {
        guard let entry = entries.popFirst() else { return }
        floor = entry.version
        bytes -= entry.bytes
        if lastVersions[entry.change.path] == entry.version { lastVersions[entry.change.path] = nil }
        forget(&collections[entry.collection], fromEnd: false)
        forget(&groups[entry.group], fromEnd: false)
    }

    /// Removes one position, and the queue with its last position.
    private func forget(_ queue: inout IndexedQueue<Int>?, fromEnd: Bool) {
        _ = fromEnd ? queue?.popLast() : queue?.popFirst()
        if queue?.isEmpty ?? true { queue = nil }
    }
}
