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
        case gone(isDeleted: Bool)
    }

    /// A document's places in the targets that it concerns, by their numbers.
    private struct Entry {
        let key: Key
        var places: [(id: Int32, place: Place)] = []

        mutating func set(_ place: Place, in id: Int32) {
            // News come by the numbers of their targets.
            if places.last.map({ $0.id < id }) ?? true { return places.append((id, place)) }
            var (index, end) = (0, places.count - 1)
            while index < end {
                let middle = (index + end) / 2
                if places[middle].id < id { index = middle + 1 } else { end = middle }
            }
            if places[index].id == id { places[index].place = place } else { places.insert((id, place), at: index) }
        }
    }

    private var entries: [Entry] = []
    private var indices: [Key: Int] = [:]
    /// How many documents targets have that are counted.
    private var counts: [Int32: Int] = [:]

    var isEmpty: Bool { entries.isEmpty && counts.isEmpty }

    mutating func add(_ event: ListenEvent, of id: Int32, _ target: ListenTarget, isProjected: Bool) {
        let own = isProjected ? id : nil
        switch event {
        case .initial(let documents, _):
            for document in documents { set(.present(document), document.path, id, own) }
            guard case .documents(let paths) = target else { return }
            // A document that was asked for by name and doesn't exist is reported too.
            for path in paths.subtracting(documents.map(\.path)).sorted(by: { $0.string < $1.string }) {
                set(.gone(isDeleted: true), path, id, own)
            }
        case .count(let count, _): counts[id] = count
        case .changes(let changes, _):
            if let count = counts[id] { counts[id] = changes.reduce(count) { $0 + $1.addedCount } }
            for change in changes {
                switch change {
                case .added(let document), .modified(let document): set(.present(document), document.path, id, own)
                case .removed(let document, let isDeleted):
                    set(.gone(isDeleted: isDeleted), document.path, id, own)
                }
            }
        case .startOver: break
        }
    }

    /// Forgets what a target has so far.
    mutating func drop(_ id: Int32) {
        counts[id] = nil
        guard !entries.isEmpty else { return }
        for index in entries.indices { entries[index].places.removeAll { $0.id == id } }
        entries.removeAll { $0.places.isEmpty }
        indices = Dictionary(uniqueKeysWithValues: entries.enumerated().map { ($0.element.key, $0.offset) })
    }

    private mutating func set(_ place: Place, _ path: DocumentPath, _ id: Int32, _ own: Int32?) {
        let key = Key(path: path, target: own)
        let index = indices[key] ?? entries.count
        if index == entries.count {
            indices[key] = index
            entries.append(Entry(key: key))
        }
        entries[index].set(place, in: id)
    }

    /// One for each document, then one for each target that is counted.
    func messages(at time: Timestamp) -> [ListenResponse] {
        changes(at: time)
            + counts.sorted { $0.key < $1.key }.map { .filter(target: $0.key, count: $0.value) }
    }

    private func changes(at time: Timestamp) -> [ListenResponse] {
        entries.compactMap { entry in
            var (document, isDeleted): (Document?, Bool) = (nil, false)
            var (targets, removed): ([Int32], [Int32]) = ([], [])
            for (id, place) in entry.places {
                switch place {
                case .present(let state):
                    targets.append(id)
                    if document.map({ $0.updateTime < state.updateTime }) ?? true { document = state }
                case .gone(let wasDeleted):
                    removed.append(id)
                    isDeleted = isDeleted || wasDeleted
                }
            }
            if let document { return .change(document, targets: targets, removed: removed) }
            guard !removed.isEmpty else { return nil }
            return isDeleted
                ? .delete(entry.key.path, removed: removed, at: time)
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
