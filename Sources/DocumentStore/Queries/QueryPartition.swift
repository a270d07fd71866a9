import StorageEngine
import DocumentModel

/// Splits a collection group by name into parts of about the same size.
///
/// One pass over the names keeps evenly spaced ones: when there are too many, every second is dropped.
struct QueryPartition {
    private static let minSamples = 1024
    /// Each part has at least this many kept names, so that the sizes of parts differ by an eighth at most.
    private static let samplesPerPart = 8
    private static let maxPoints = 10_000

    private let maxSamples: Int
    private let points: Int
    private var samples: [DocumentPath] = []
    private var spacing = 1
    private var count = 0

    private init(points: Int) {
        self.points = points
        maxSamples = max(Self.minSamples, 2 * Self.samplesPerPart * points)
    }

    /// - Parameter maxBytes: the weight of the documents that may be held while they are sorted.
    /// - Throws: `invalidArgument` if the query can't be split.
    static func split(
        _ query: Query, points: Int, in view: DocumentView, _ meter: QueryMeter, maxBytes: Int
    ) throws -> [DocumentPath] {
        let normalized = try check(query, points: points)
        var partition = QueryPartition(points: points)
        if view.past == nil {
            let walks = QueryPlan(normalized, view.catalog, isOrderWanted: false).walks
            if walks.allSatisfy(\.isOrdered) {
                try partition.add(walks, view, meter)
                return partition.places
            }
        }
        var empty = normalized.query
        empty.projection = [.documentID]
        let places = try PlaceReader(
            QueryPlan(NormalizedQuery(empty), view.catalog, isOrderWanted: false), view, meter,
            maxBytes: maxBytes)
        while let place = try places.next() { partition.add(place.document.path) }
        return partition.places
    }

    private static func check(_ query: Query, points: Int) throws(DocumentError) -> NormalizedQuery {
        let normalized = try NormalizedQuery(query)
        guard query.allDescendants else {
            throw .invalidArgument("only a query on a collection group can be partitioned")
        }
        guard query.filter == nil, query.limit == nil, query.offset == 0, query.start == nil, query.end == nil else {
            throw .invalidArgument("a query that is partitioned has no filter, cursors, offset or limit")
        }
        guard normalized.orders == [Query.Order(.documentID)] else {
            throw .invalidArgument("a query that is partitioned is ordered by __name__, ascending, and nothing else")
        }
        guard (1...maxPoints).contains(points) else {
            throw .invalidArgument("a partition has 1 to \(maxPoints) points, and \(points) were asked for")
        }
        return normalized
    }

    /// Adds the names of several walks, each of which is in order.
    private mutating func add(_ walks: [QueryRoute], _ view: DocumentView, _ meter: QueryMeter) throws {
        let streams = walks.map { HitStream($0, view.storage, meter, expecting: 256, isKeyEnough: true) }
        func path(_ stream: HitStream) throws -> DocumentPath? {
            try stream.next().map { $0.path($0.name, stream.route.target) }
        }
        var heads = try streams.map(path)
        while true {
            var first: Int?
            for (index, head) in heads.enumerated() {
                guard let head else { continue }
                if let best = first.flatMap({ heads[$0] }), DocumentPath.compare(best, head) == .ascending { continue }
                first = index
            }
            guard let first, let name = heads[first] else { return }
            add(name)
            heads[first] = try path(streams[first])
        }
    }

    private mutating func add(_ path: DocumentPath) {
        if count % spacing == 0 { samples.append(path) }
        count += 1
        guard samples.count == maxSamples else { return }
        samples = stride(from: 0, to: samples.count, by: 2).map { samples[$0] }
        spacing *= 2
    }

    private var places: [DocumentPath] {
        var places: [DocumentPath] = []
        var last = 0
        for point in 1...points {
            let index = (point * count / (points + 1) + spacing / 2) / spacing
            guard index > last, index < samples.count else { continue }
            places.append(samples[index])
            last = index
        }
        return places
    }
}

extension QueryPlan {
    /// The routes of a plan that has one for each part.
    fileprivate var walks: [QueryRoute] {
        parts.compactMap { part in
            if case .route(let route) = part.way { route } else { nil }
        }
    }
}
