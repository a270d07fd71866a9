import DocumentModel
import DocumentStore

/// What happened to the documents of all targets up to one time: of each document only its last state, once for all targets
/// that have it.
struct ListenBatch {
    private struct Key: Hashable {
        var path: DocumentPath
        /// The target, if its documents are projections of its own.
        var target: Int32?
    }

    private enum Place {
        case present(Document)
        /// Since when, at the latest, whether the document didn't exist then, and its state if the client may have it.
        case gone(at: Timestamp, isDeleted: Bool, now: Document? = nil)
    }

    /// A document's places in the targets that it concerns, by their numbers.
    private struct Entry {
        let key: Key
        var places: [(id: Int32, place: Place)] = []

        /// - Returns: whether the target had no place.
        mutating func set(_ place: Place, in id: Int32) -> Bool {
            // News come by the numbers of their targets.
            if places.last.map({ $0.id < id }) ?? true {
                places.append((id, place))
                return true
            }
            let index = index(of: id)
            let isNew = places[index].id != id
            if isNew { places.insert((id, place), at: index) } else { places[index].place = place }
            return isNew
        }

        mutating func remove(_ id: Int32) {
            guard !places.isEmpty else { return }
            let index = index(of: id)
            if places[index].id == id { places.remove(at: index) }
        }

        /// Where a target's place is, or would be before others; the last one if all are before it.
        private func index(of id: Int32) -> Int {
            var (index, end) = (0, places.count - 1)
            while index < end {
                let middle = (index + end) / 2
                if places[middle].id < id { index = middle + 1 } else { end = middle }
            }
            return index
        }
    }

    private var entries: [Entry] = []
    private var indices: [Key: Int] = [:]
    /// The entries in which each target has a place: many targets may be dropped, one after the other.
    private var ofTarget: [Int32: [Int]] = [:]
    /// The entries without places, all of whose targets were dropped.
    private var emptied = 0
    /// How many documents targets have that are counted.
    private var counts: [Int32: Int] = [:]

    var isEmpty: Bool { entries.count == emptied && counts.isEmpty }

    mutating func add(_ event: ListenEvent, of id: Int32, _ target: ListenTarget, isProjected: Bool) {
        let own = isProjected ? id : nil
        switch event {
        case .initial(let documents, let time):
            for document in documents { set(.present(document), document.path, id, own) }
            guard case .documents(let paths) = target else { return }
            // A document that was asked for by name and doesn't exist is reported too.
            for path in paths.subtracting(documents.map(\.path)).sorted(by: { $0.string < $1.string }) {
                set(.gone(at: time, isDeleted: true), path, id, own)
            }
        case .count(let count, _): counts[id] = count
        case .changes(let changes, let time):
            if let count = counts[id] { counts[id] = changes.reduce(count) { $0 + $1.addedCount } }
            for change in changes {
                switch change {
                case .added(let document), .modified(let document): set(.present(document), document.path, id, own)
                case .removed(let document, let isDeleted, let now):
                    set(.gone(at: time, isDeleted: isDeleted, now: now), document.path, id, own)
                }
            }
        case .startOver: break
        }
    }

    /// Forgets what a target has so far.
    mutating func drop(_ id: Int32) {
        counts[id] = nil
        for index in ofTarget.removeValue(forKey: id) ?? [] {
            entries[index].remove(id)
            guard entries[index].places.isEmpty else { continue }
            indices[entries[index].key] = nil
            emptied += 1
        }
        if emptied > entries.count / 2 { removeEmptied() }
    }

    private mutating func removeEmptied() {
        var kept: [Entry] = []
        var moved = [Int](repeating: 0, count: entries.count)
        for (index, entry) in entries.enumerated() where !entry.places.isEmpty {
            moved[index] = kept.count
            kept.append(entry)
        }
        (entries, emptied) = (kept, 0)
        indices = Dictionary(uniqueKeysWithValues: kept.enumerated().map { ($0.element.key, $0.offset) })
        ofTarget = ofTarget.mapValues { places in places.map { moved[$0] } }
    }

    private mutating func set(_ place: Place, _ path: DocumentPath, _ id: Int32, _ own: Int32?) {
        let key = Key(path: path, target: own)
        let index = indices[key] ?? entries.count
        if index == entries.count {
            indices[key] = index
            entries.append(Entry(key: key))
        }
        if entries[index].set(place, in: id) { ofTarget[id, default: []].append(index) }
    }

    /// One for each document, then one for each target that is counted.
    func messages(at time: Timestamp) -> [ListenResponse] {
        changes(at: time)
            + counts.sorted { $0.key < $1.key }.map { .filter(target: $0.key, count: $0.value) }
    }

    private func changes(at time: Timestamp) -> [ListenResponse] {
        entries.compactMap { entry in
            var document: Document?
            var gone: (at: Timestamp, isDeleted: Bool, now: Document?)?
            var (targets, removed): ([Int32], [Int32]) = ([], [])
            for (id, place) in entry.places {
                switch place {
                case .present(let state):
                    targets.append(id)
                    if document.map({ $0.updateTime < state.updateTime }) ?? true { document = state }
                case .gone(let time, let isDeleted, let now):
                    removed.append(id)
                    // At one time the document has one state, of which not all targets need know.
                    if gone.map({ $0.at < time || $0.at == time && now != nil }) ?? true {
                        gone = (time, isDeleted, now)
                    }
                }
            }
            if let document { return .change(document, targets: targets, removed: removed) }
            guard let gone else { return nil }
            if let now = gone.now { return .change(now, targets: [], removed: removed) }
            // At the batch's time the document may exist again, outside of all targets. Clients ignore a document that
            // isn't newer than its deletion, also when another target has it later.
            return gone.isDeleted
                ? .delete(entry.key.path, removed: removed, at: gone.at)
                : .remove(entry.key.path, removed: removed, at: time)
        }
    }
}

extension ListenChange {
    /// By how much it changes the number of documents.
    fileprivate var addedCount: Int {
        switch self {
        case .added: 1
        case .modified: 0
        case .removed: -1
        }
    }
}
