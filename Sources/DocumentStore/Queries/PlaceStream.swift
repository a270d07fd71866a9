import StorageEngine
import DocumentModel

/// The state that all streams of one run share.
struct QueryContext {
    let query: NormalizedQuery
    let view: DocumentView
    let meter: QueryMeter
    /// The number of places that are needed.
    let needed: Int
    /// How many stored bytes of documents one source may hold while it sorts them.
    let maxBytes: Int
    /// How many bytes of names and compared values it may hold after it has released the documents.
    let maxKeyBytes: Int
    /// The budget of the result, if the result contains everything that is found; nil if it contains only a part.
    let budget: ReadBudget?
    /// Whether places are compared with those of other streams.
    let needsValues: Bool
}

/// Documents in a query's order, each once; they are searched for on demand.
protocol PlaceStream: AnyObject {
    func next() throws -> QueryPlace?
}

/// A stream of places that are already known.
final class ListStream: PlaceStream {
    private var places: SortedPlaces
    private let view: DocumentView?

    init(_ places: SortedPlaces, _ view: DocumentView) {
        self.places = places
        self.view = view
    }

    /// An empty stream.
    init() {
        places = SortedPlaces()
        view = nil
    }

    func next() throws -> QueryPlace? {
        guard let view else { return nil }
        return try places.next(in: view)
    }
}

/// The places of several streams in order, each once.
final class MergedStream: PlaceStream {
    private let query: NormalizedQuery
    /// Streams with the next place of each; the stream with the first place is at the end.
    private var heads: [(place: QueryPlace, stream: any PlaceStream)] = []
    private var pending: [any PlaceStream]

    init(_ query: NormalizedQuery, _ streams: [any PlaceStream]) {
        self.query = query
        pending = streams
    }

    func next() throws -> QueryPlace? {
        while let stream = pending.popLast() { try push(stream) }
        guard let first = heads.popLast() else { return nil }
        pending.append(first.stream)
        // Names are part of the order, so documents with the same place are the same document.
        while let other = heads.last, query.compare(other.place, first.place) == .same {
            pending.append(other.stream)
            heads.removeLast()
        }
        return first.place
    }

    private func push(_ stream: any PlaceStream) throws {
        guard let place = try stream.next() else { return }
        var (low, high) = (0, heads.count)
        while low < high {
            let middle = (low + high) / 2
            if query.compare(heads[middle].place, place) == .descending { low = middle + 1 } else { high = middle }
        }
        heads.insert((place, stream), at: low)
    }
}

/// The documents of a route in the query's order: what the route doesn't order is sorted in memory.
final class RouteStream: PlaceStream {
    enum Step {
        case place(QueryPlace)
        case end
        /// The allowance is used up.
        case paused
    }

    let route: QueryRoute
    private let context: QueryContext
    private let hits: HitStream
    /// The common bytes of the keys in the group that is being collected.
    private var group: ArraySlice<UInt8>?
    private var sorter: PlaceSorter
    private var sorted = SortedPlaces()
    /// The number of documents that may be read before it pauses.
    var allowance = Int.max
    private(set) var documents = 0

    init(_ route: QueryRoute, _ context: QueryContext) {
        self.route = route
        self.context = context
        hits = HitStream(
            route, context.view.storage, context.meter,
            expecting: route.isOrdered && route.isExact ? context.needed &+ 1 : 64)
        sorter = PlaceSorter(context)
    }

    func next() throws -> QueryPlace? {
        allowance = .max
        if case .place(let place) = try step() { return place }
        return nil
    }

    /// Skips documents without reading them, if their keys alone show that they are in the result.
    ///
    /// - Returns: the number of skipped documents.
    func skip(_ count: Int) throws -> Int {
        guard route.isOrdered, route.isExact, context.view.past == nil else { return 0 }
        var skipped = 0
        while skipped < count, let hit = try hits.peek(), route.groupEnd(hit) == nil {
            _ = try hits.next()
            skipped += 1
        }
        return skipped
    }

    func step() throws -> Step {
        while true {
            if let place = try sorted.next(in: context.view) { return .place(place) }
            guard allowance > 0 else { return .paused }
            guard let hit = try hits.peek() else {
                guard group != nil else { return .end }
                endGroup()
                continue
            }
            if let group {
                guard hit.key.starts(with: group) else {
                    endGroup()
                    continue
                }
                _ = try hits.next()
                if let place = try place(of: hit, withValues: true) { try sorter.add(place) }
            } else if let end = route.groupEnd(hit) {
                group = hit.key[..<end]
            } else {
                _ = try hits.next()
                if let place = try place(of: hit, withValues: context.needsValues) { return .place(place) }
            }
        }
    }

    private func endGroup() {
        group = nil
        sorted = sorter.take()
    }

    private func place(of hit: IndexHit, withValues: Bool) throws -> QueryPlace? {
        documents += 1
        allowance -= 1
        guard let document = try route.document(of: hit, in: context.view, context.meter) else { return nil }
        guard route.admits(document) else { return nil }
        guard withValues || route.checksCursors else {
            return QueryPlace(document: document, values: [], weight: document.weight)
        }
        var place = context.query.place(of: document)
        guard !route.checksCursors || context.query.isBetweenCursors(place) else { return nil }
        place.weight = document.weight
        return place
    }
}

extension QueryRoute {
    /// Reads the document of a hit.
    ///
    /// - Returns: nil if it isn't below the query's parent, or changed after the state that the view sees.
    func document(
        of hit: IndexHit, in view: DocumentView, _ meter: QueryMeter
    ) throws -> Document? {
        let name = hit.name
        let path = hit.path(name, target)
        if checksParent, !conjunction.query.covers(path) { return nil }
        guard let bytes = try hit.stored ?? view.storage.get(.documents, hit.documentKey(name, in: documentPrefix))
        else {
            throw DecodingFailure("the index names \(path), which is missing")
        }
        try meter.readDocument(bytes.count)
        let fields = conjunction.query.decodedFields
        guard let past = view.past else { return try StoredDocument.decode(bytes, path: path, fields: fields) }
        return try StoredDocument.decode(bytes, path: path, upTo: past, fields: fields)
    }

    /// Whether a found document satisfies the conditions that keys don't express. Cursors aren't considered.
    func admits(_ document: Document) -> Bool {
        if isExact { return true }
        let query = conjunction.query
        if checksFields, !query.hasFields(document) { return false }
        return residual.allSatisfy { query.matches(document, $0) }
    }
}
