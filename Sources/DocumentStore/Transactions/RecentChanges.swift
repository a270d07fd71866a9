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
        /// About what it takes in memory, which for many small values is a multiple of what is stored.
        var heldBytes: Int

        /// - Parameters:
        ///   - storedBytes: the size of the document before and after the change, together.
        ///   - weight: as ``DocumentChange/weight``, which would look at all of the documents on the writer's thread: the
        ///     commit knows it.
        init(_ change: DocumentChange, version: Int64, storedBytes: Int, weight: Int = 0) {
            self.version = version
            self.change = change
            collection = change.path.parent
            group = collection.id
            bytes = storedBytes + 256
            heldBytes = max(bytes, weight + 256)
        }
    }

    /// The last change of a document.
    private struct Last {
        var version: Int64
        var position: Int
    }

    /// In the order of their versions.
    private var entries = IndexedQueue<Entry>()
    /// Positions of the entries of each collection, and of all collections of an id.
    private var collections: [CollectionPath: IndexedQueue<Int>] = [:]
    private var groups: [String: IndexedQueue<Int>] = [:]
    private var last: [DocumentPath: Last] = [:]
    /// About what all of them take in memory.
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
            last[entry.change.path] = Last(version: entry.version, position: position)
            bytes += entry.heldBytes
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
            return documents.first { last[$0].map { $0.version > version } ?? false }
        }
        for position in newer {
            if let path = entries[position]?.change.path, documents.contains(path) { return path }
        }
        return nil
    }

    /// An upper bound for the version of a document's last change.
    func newest(of path: DocumentPath) -> Int64 { last[path]?.version ?? floor }

    /// A document after its last change; nil if that isn't remembered, or came after a version.
    func state(of path: DocumentPath, upTo version: Int64) -> Document?? {
        guard let last = last[path], last.version <= version, let entry = entries[last.position] else { return nil }
        return .some(entry.change.after)
    }

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
    ///
    /// - Parameter steps: how many comparisons of short values may be made, decreased by what this call takes.
    /// - Returns: nil if it takes more.
    func hasChanged(_ query: NormalizedQuery, after version: Int64, within steps: inout Int) -> Bool? {
        guard let (positions, newer) = newer(for: query, after: version), !newer.isEmpty else { return false }
        let effort = MatchEffort(query)
        for place in newer {
            guard let position = positions[place], let entry = entries[position] else { continue }
            steps -= effort.steps(bytes: entry.bytes)
            guard steps >= 0 else { return nil }
            if query.isChanged(by: entry.change) { return true }
        }
        return false
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
            bytes -= entry.heldBytes
            lost.insert(entry.change.path)
            forget(&collections[entry.collection], fromEnd: true)
            forget(&groups[entry.group], fromEnd: true)
        }
        // Adding the lost changes may have raised the floor above the version; now no change is newer than it.
        floor = min(floor, version)
        guard !lost.isEmpty else { return }
        for path in lost { last[path] = nil }
        for position in entries.positions {
            guard let entry = entries[position], lost.contains(entry.change.path) else { continue }
            last[entry.change.path] = Last(version: entry.version, position: position)
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
        let position = entries.positions.lowerBound
        guard let entry = entries.popFirst() else { return }
        floor = entry.version
        bytes -= entry.heldBytes
        if last[entry.change.path]?.position == position { last[entry.change.path] = nil }
        forget(&collections[entry.collection], fromEnd: false)
        forget(&groups[entry.group], fromEnd: false)
    }

    /// Removes one position, and the queue with its last position.
    private func forget(_ queue: inout IndexedQueue<Int>?, fromEnd: Bool) {
        _ = fromEnd ? queue?.popLast() : queue?.popFirst()
        if queue?.isEmpty ?? true { queue = nil }
    }
}

/// What it takes to compare changes with the conditions of a query, in comparisons of short values.
private struct MatchEffort {
    private static let bytesPerStep = 16

    /// For each change.
    private var steps = 0
    /// The conditions for which all of a field's value is looked at, however large.
    private var deepConditions = 0

    init(_ query: NormalizedQuery) {
        for leaf in query.disjuncts.joined() {
            steps += 1
            switch leaf.test {
            case .compare(let comparison, let operand):
                steps += DocumentLimits.size(of: operand) / Self.bytesPerStep
                switch (comparison, operand) {
                // At most what is compared with.
                case (.equal, _), (.notEqual, _): break
                case (.arrayContains, _), (_, .array), (_, .map): deepConditions += 1
                default: break
                }
            case .none(let operands):
                for operand in operands { steps += DocumentLimits.size(of: operand) / Self.bytesPerStep }
            case .null, .notNull, .nan, .notNaN: break
            }
        }
        steps = max(steps, 1)
    }

    /// - Parameter bytes: the size of the change.
    func steps(bytes: Int) -> Int { steps + deepConditions * (bytes / Self.bytesPerStep) }
}
