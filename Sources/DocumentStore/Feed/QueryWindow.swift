import DocumentModel

/// The part of a query's result within its limit and offset, kept up to date from changes.
struct QueryWindow {
    let query: NormalizedQuery
    /// How many documents from the start of the order are kept: the offset plus the limit.
    let needed: Int
    private(set) var places: [QueryPlace] = []
    /// About what the kept documents take in memory.
    private(set) var bytes = 0
    /// Whether these are all documents of the result; otherwise there may be more after the last one.
    private var isComplete = false

    init(_ query: NormalizedQuery) {
        self.query = query
        needed = query.query.limit.map { $0 + query.query.offset } ?? .max
    }

    /// The query that fills the window.
    func source() throws(DocumentError) -> NormalizedQuery {
        var query = query.query
        query.offset = 0
        query.limit = needed == .max ? nil : needed
        query.projection = nil
        return try NormalizedQuery(query)
    }

    mutating func fill(_ documents: [Document]) {
        places = documents.map(query.place)
        isComplete = places.count < needed
        bytes = documents.reduce(0) { $0 + $1.weight }
    }

    /// The documents in the query's result.
    var visible: ArraySlice<QueryPlace> {
        places.dropFirst(query.query.offset).prefix(query.query.limit ?? .max)
    }

    enum Outcome {
        case unchanged
        case changed
        /// A document left, and another may move up: the window must be filled again.
        case short
    }

    /// Applies changes, one for each document.
    mutating func apply(_ changes: [DocumentChange]) -> Outcome {
        guard needed > 0 else { return .unchanged }
        // Documents after the last one are unknown.
        let boundary = isComplete ? nil : places.last
        var isChanged = false
        for change in changes {
            if let place = query.resultPlace(of: change.before) {
                let index = index(of: place)
                if index < places.count, places[index].document.path == change.path {
                    bytes -= places.remove(at: index).document.weight
                    isChanged = true
                }
            }
            guard let place = query.resultPlace(of: change.after) else { continue }
            if let boundary, query.compare(place, boundary) == .descending { continue }
            places.insert(place, at: index(of: place))
            bytes += place.document.weight
            isChanged = true
        }
        guard isChanged else { return .unchanged }
        while places.count > needed {
            bytes -= places.removeLast().document.weight
            isComplete = false
        }
        return places.count < needed && !isComplete ? .short : .changed
    }

    /// The first index whose place isn't before a given place.
    private func index(of place: QueryPlace) -> Int {
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if query.compare(places[middle], place) == .ascending { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The changes that turn one result into another.
    ///
    /// - Parameter isDeleted: whether a document that left the result no longer exists.
    static func difference(
        from old: [QueryPlace], to new: [QueryPlace], of query: NormalizedQuery,
        isDeleted: (DocumentPath) throws -> Bool
    ) rethrows -> [ListenChange] {
        // A damaged index may have named a document twice.
        let earlier = Dictionary(old.map { ($0.document.path, $0.document) }) { first, _ in first }
        let now = Set(new.map(\.document.path))
        var changes: [ListenChange] = []
        for place in old where !now.contains(place.document.path) {
            changes.append(
                .removed(query.project(place.document), deleted: try isDeleted(place.document.path)))
        }
        for place in new {
            switch earlier[place.document.path] {
            case nil: changes.append(.added(query.project(place.document)))
            case let document? where document.updateTime != place.document.updateTime:
                changes.append(.modified(query.project(place.document)))
            default: break
            }
        }
        return changes
    }
}

extension NormalizedQuery {
    /// The place of a document that matches the query, disregarding limit and offset.
    func resultPlace(of document: Document?) -> QueryPlace? {
        guard let document, matches(document) else { return nil }
        let place = place(of: document)
        return isBetweenCursors(place) ? place : nil
    }

    /// The effect of changes, one for each document, on the result of a query without limit and offset.
    func difference(_ changes: [DocumentChange]) -> [ListenChange] {
        var removed: [(place: QueryPlace, deleted: Bool)] = []
        var present: [(place: QueryPlace, isNew: Bool)] = []
        for change in changes {
            let before = resultPlace(of: change.before)
            if let after = resultPlace(of: change.after) {
                present.append((after, before == nil))
            } else if let before {
                removed.append((before, change.after == nil))
            }
        }
        if removed.count > 1 { removed.sort { compare($0.place, $1.place) == .ascending } }
        if present.count > 1 { present.sort { compare($0.place, $1.place) == .ascending } }
        return removed.map { .removed(project($0.place.document), deleted: $0.deleted) }
            + present.map { place, isNew in
                isNew ? .added(project(place.document)) : .modified(project(place.document))
            }
    }
}
