import CommitPipeline
import DocumentModel

/// Recent changes, against which transactions are validated. Bounded: the oldest are forgotten first.
struct RecentChanges: Sendable {
    /// One change as it is kept: an object, since it is handed on and looked at far more often than it is made.
    final class Entry: Sendable {
        let version: Int64
        let change: DocumentChange
        let collection: CollectionPath
        let group: String
        let bytes: Int
        /// About what it takes in memory, which for many small values is a multiple of what is stored.
        let heldBytes: Int

        /// - Parameters:
        ///   - storedBytes: the size of the document before and after the change, together.
        ///   - weight: as ``DocumentChange/weight``, which would look at all of the documents on the writer's thread: the
        ///     commit knows it.
        init(_ change: DocumentChange, version: Int64, storedBytes: Int, weight: Int) {
            self.version = version
            self.change = change
            collection = change.path.parent
            group = collection.id
            bytes = storedBytes + 256
            heldBytes = max(bytes, weight + 256)
        }
    }

    /// An entry with the positions of the changes before it, which may have been forgotten since.
    private struct Place: Sendable {
        let entry: Entry
        let ofDocument: Int?
        let inCollection: Int?
        let inGroup: Int?
    }

    /// In the order of their versions.
    private var places = IndexedQueue<Place>()
    /// The position of the last change of each document, in each collection, and in all collections of an id.
    private(set) var documents: [DocumentPath: Int] = [:]
    private(set) var collections: [CollectionPath: Int] = [:]
    private(set) var groups: [String: Int] = [:]
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
            let position = places.positions.upperBound
            let ofDocument = documents.updateValue(position, forKey: entry.change.path)
            let inCollection = collections.updateValue(position, forKey: entry.collection)
            let inGroup = groups.updateValue(position, forKey: entry.group)
            places.append(Place(entry: entry, ofDocument: ofDocument, inCollection: inCollection, inGroup: inGroup))
            bytes += entry.heldBytes
        }
        trim()
    }

    /// One of the given documents that changed after a version, which must not be below the floor.
    ///
    /// Iterates over the changes or the documents, whichever are fewer.
    func changed(among paths: Set<DocumentPath>, after version: Int64) -> DocumentPath? {
        guard !paths.isEmpty else { return nil }
        let newer = places.firstPosition { $0.entry.version > version }..<places.positions.upperBound
        guard newer.count < paths.count else {
            return paths.first { last(of: $0).map { $0.version > version } ?? false }
        }
        for position in newer {
            if let path = places[position]?.entry.change.path, paths.contains(path) { return path }
        }
        return nil
    }

    /// An upper bound for the version of a document's last change.
    func newest(of path: DocumentPath) -> Int64 { last(of: path)?.version ?? floor }

    /// A document after its last change; nil if that isn't remembered, or came after a version.
    func state(of path: DocumentPath, upTo version: Int64) -> Document?? {
        guard let last = last(of: path), last.version <= version else { return nil }
        return .some(last.change.after)
    }

    private func last(of path: DocumentPath) -> Entry? { documents[path].flatMap { places[$0]?.entry } }

    /// The writer waits for the lock that guards this, so that only so many changes are looked at for the first one.
    private static let maxSpan = 200

    /// A range of versions that contains all changes after a version that may concern a query; nil if there are none.
    func span(of query: NormalizedQuery, after version: Int64) -> ClosedRange<Int64>? {
        let newer = newer(for: query, after: version).prefix(Self.maxSpan).map(\.version)
        let first = newer.count < Self.maxSpan ? newer.last : version + 1
        guard version < floor else { return newer.first.map { (first ?? $0)...$0 } }
        return version + 1...max(newer.first ?? floor, floor)
    }

    /// Whether a query's matches changed after a version: one was added, removed or replaced.
    ///
    /// - Parameter steps: how many comparisons of short values may be made, decreased by what this call takes.
    /// - Returns: nil if it takes more.
    func hasChanged(_ query: NormalizedQuery, after version: Int64, within steps: inout Int) -> Bool? {
        lazy var effort = MatchEffort(query)
        for entry in newer(for: query, after: version) {
            steps -= effort.steps(bytes: entry.bytes)
            guard steps >= 0 else { return nil }
            if query.isChanged(by: entry.change) { return true }
        }
        return false
    }

    /// The changes after a version in the query's collection or group, the newest first, as they are found.
    private func newer(for query: NormalizedQuery, after version: Int64) -> UnfoldSequence<Entry, Int?> {
        let isGroup = query.query.allDescendants
        let last = isGroup ? groups[query.query.collectionID] : collections[query.collection]
        return sequence(state: last) { [places] position in
            guard let place = position.flatMap({ places[$0] }), place.entry.version > version else { return nil }
            position = isGroup ? place.inGroup : place.inCollection
            return place.entry
        }
    }

    /// Forgets the changes after a version, because they were rolled back.
    mutating func rollBack(to version: Int64) {
        let first = places.positions.lowerBound
        // A position that was forgotten would be in the lookups for ever.
        let kept = { (position: Int?) in position.flatMap { $0 >= first ? $0 : nil } }
        while let place = places.last, place.entry.version > version {
            _ = places.popLast()
            bytes -= place.entry.heldBytes
            documents[place.entry.change.path] = kept(place.ofDocument)
            collections[place.entry.collection] = kept(place.inCollection)
            groups[place.entry.group] = kept(place.inGroup)
        }
        // Adding the lost changes may have raised the floor above the version; now no change is newer than it.
        floor = min(floor, version)
    }

    /// The version of the last change; nil if none is remembered.
    var newest: Int64? { places.last?.entry.version }

    /// Forgets the oldest changes, up to a version, until no more than these bytes are left.
    mutating func forget(upTo version: Int64, beyond maxBytes: Int) {
        while bytes > maxBytes, let first = places.first, first.entry.version <= version { removeFirst() }
    }

    private mutating func trim() {
        while places.count > maxCount || (bytes > maxBytes && !places.isEmpty) { removeFirst() }
    }

    private mutating func removeFirst() {
        let position = places.positions.lowerBound
        guard let entry = places.popFirst()?.entry else { return }
        floor = entry.version
        bytes -= entry.heldBytes
        Self.forget(&documents[entry.change.path], at: position)
        Self.forget(&collections[entry.collection], at: position)
        Self.forget(&groups[entry.group], at: position)
    }

    /// Forgets that the last change is at a position, unless another one has come since.
    private static func forget(_ last: inout Int?, at position: Int) {
        if last == position { last = nil }
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
