import StorageEngine
import DocumentModel

/// Counts the hits of several routes in parallel until one of them ends: the smallest.
///
/// Counting reads keys only, and of each route about as many as of the smallest, up to a limit.
struct RouteRivals {
    private static let maxProbe = 65_536

    let routes: [QueryRoute]
    private let hits: [HitStream]
    private(set) var smallest: (route: QueryRoute, count: Int)?

    init(_ routes: [QueryRoute], _ view: DocumentView, _ meter: QueryMeter) {
        self.routes = routes
        hits = routes.map { HitStream($0, view.storage, meter, expecting: 64, isKeyEnough: true) }
    }

    /// Advances all routes until each has cost a total, or one of them has ended.
    mutating func advance(to total: Int) throws {
        guard smallest == nil else { return }
        for hits in hits where try !hits.advance(to: total) {
            if smallest.map({ hits.count < $0.count }) ?? true { smallest = (hits.route, hits.count) }
        }
    }

    /// The route with the fewest documents; the first one if all have very many.
    mutating func decide() throws -> QueryRoute {
        var total = 64
        while smallest == nil, total <= Self.maxProbe {
            try advance(to: total)
            total *= 4
        }
        return smallest?.route ?? routes[0]
    }
}

/// Follows a route in the query's order, and switches to another if it finds too few results on the way.
///
/// The hits of the other routes are counted while the ordered one advances. It is left once it has read as many
/// documents as the smallest other route has: so at most about twice as many documents are read as the better way
/// needs.
final class RaceStream: PlaceStream {
    private let context: QueryContext
    private let ordered: RouteStream
    private var rivals: RouteRivals
    private var sorted: RouteStream?
    private var hasStarted = false
    private var last: QueryPlace?

    init(ordered: QueryRoute, others: [QueryRoute], _ context: QueryContext) {
        self.context = context
        self.ordered = RouteStream(ordered, context)
        rivals = RouteRivals(others, context.view, context.meter)
    }

    func next() throws -> QueryPlace? {
        if let sorted { return try next(of: sorted) }
        if !hasStarted {
            hasStarted = true
            try rivals.advance(to: min(context.needed, 1000) + 64)
            if let smallest = rivals.smallest { return try leave(for: smallest.route) }
            ordered.allowance = 2 * min(context.needed, 1000) + 128
        }
        while true {
            switch try ordered.step() {
            case .place(let place):
                last = place
                return place
            case .end: return nil
            case .paused:
                try rivals.advance(to: ordered.documents * 4)
                guard let smallest = rivals.smallest else {
                    ordered.allowance = ordered.documents
                    continue
                }
                if ordered.documents >= smallest.count { return try leave(for: smallest.route) }
                ordered.allowance = smallest.count - ordered.documents
            }
        }
    }

    private func leave(for route: QueryRoute) throws -> QueryPlace? {
        context.meter.decisions.append(
            "left \(self.ordered.route.summary) after \(ordered.documents) documents for \(route.summary)")
        let sorted = RouteStream(route, context)
        self.sorted = sorted
        return try next(of: sorted)
    }

    /// Skips what the ordered route has already returned.
    private func next(of sorted: RouteStream) throws -> QueryPlace? {
        while let place = try sorted.next() {
            guard let last else { return place }
            if context.query.compare(last, place) == .ascending { return place }
        }
        return nil
    }
}
