import DocumentModel

/// How a query is executed: for each conjunction, and each place where its documents can be, a way to find them.
struct QueryPlan {
    enum Way {
        /// At most one document.
        case document(DocumentPath)
        case route(QueryRoute)
        /// The route with the fewest documents; all of them are read, in any order.
        case smallest([QueryRoute])
        /// A route in the query's order, unless sorting the results of another turns out to cost less.
        case race(ordered: QueryRoute, others: [QueryRoute])
    }

    struct Part {
        /// The conjunction's index in the query.
        var disjunct: Int
        var conjunction: Conjunction
        var way: Way
        /// Whether none of its documents can match an earlier disjunct.
        var isApart: Bool
    }

    let query: NormalizedQuery
    private(set) var parts: [Part] = []

    /// - Parameter isOrderWanted: whether reading may stop after the first results.
    init(_ query: NormalizedQuery, _ catalog: IndexCatalog, isOrderWanted: Bool) {
        self.query = query
        var seen: [Conjunction] = []
        for (index, leaves) in query.disjuncts.enumerated() {
            let conjunction = Conjunction(query, leaves)
            if conjunction.isEmpty || seen.contains(where: { $0.leaves == leaves }) { continue }
            let isApart = seen.allSatisfy(conjunction.excludes)
            seen.append(conjunction)
            for way in Self.ways(conjunction, catalog, isOrderWanted: isOrderWanted) {
                parts.append(Part(disjunct: index, conjunction: conjunction, way: way, isApart: isApart))
            }
        }
    }

    private static func ways(_ conjunction: Conjunction, _ catalog: IndexCatalog, isOrderWanted: Bool) -> [Way] {
        if let document = conjunction.document { return [.document(document)] }
        // If one route for a place has no ranges, no document there matches.
        return routes(conjunction, catalog).filter { routes in !routes.contains(where: \.ranges.isEmpty) }
            .map { choose($0, isOrderWanted: isOrderWanted) }
    }

    /// For each place where documents can be, the routes that find all of them there.
    private static func routes(_ conjunction: Conjunction, _ catalog: IndexCatalog) -> [[QueryRoute]] {
        let query = conjunction.query
        guard query.query.allDescendants else {
            return [routes(conjunction, .collection(query.collection), catalog)]
        }
        let group = QueryTarget.group(query.collection.string)
        let indexed = routes(conjunction, group, conjunction.accesses(group, catalog))
        guard indexed.isEmpty else { return [indexed] }
        let below = [QueryRoute(conjunction, group, [Conjunction.walk(group, catalog)])]
        // A group has entries for all documents except those of a root collection.
        guard query.query.parent == nil, !catalog.isRebuilding else { return [below] }
        return [routes(conjunction, .collection(query.collection), catalog), below]
    }

    private static func routes(
        _ conjunction: Conjunction, _ target: QueryTarget, _ catalog: IndexCatalog
    ) -> [QueryRoute] {
        let found = routes(conjunction, target, conjunction.accesses(target, catalog))
        // An index on the name alone is equivalent to the walk, which covers all documents.
        return found.isEmpty || conjunction.orders[0].field.isDocumentID && !found.contains { $0.fields.isEmpty }
            ? found + [QueryRoute(conjunction, target, [Conjunction.walk(target, catalog)])] : found
    }

    /// One route for each order that accesses have in common, without routes that another makes redundant.
    private static func routes(
        _ conjunction: Conjunction, _ target: QueryTarget, _ accesses: [IndexAccess]
    ) -> [QueryRoute] {
        var bySignature: [(signature: [IndexAccess.Field], accesses: [IndexAccess])] = []
        for access in accesses {
            let signature = access.signature
            if let index = bySignature.firstIndex(where: { $0.signature == signature }) {
                bySignature[index].accesses.append(access)
            } else {
                bySignature.append((signature, [access]))
            }
        }
        var routes: [QueryRoute] = []
        for (_, accesses) in bySignature {
            let route = QueryRoute(conjunction, target, cover(accesses))
            if routes.contains(where: { $0.isAtLeast(route) }) { continue }
            routes.removeAll { route.isAtLeast($0) }
            routes.append(route)
        }
        return routes
    }

    private static let maxIntersected = 6

    /// A few accesses that together require everything that all of them require.
    private static func cover(_ accesses: [IndexAccess]) -> [IndexAccess] {
        var chosen: [IndexAccess] = []
        var covered: Set<Int> = []
        while chosen.count < maxIntersected {
            var best: (access: IndexAccess, gain: Int)?
            for access in accesses {
                let gain = access.equalities.count { !covered.contains($0) }
                if gain > best?.gain ?? 0 { best = (access, gain) }
            }
            guard let best else { break }
            chosen.append(best.access)
            covered.formUnion(best.access.equalities)
        }
        return chosen.isEmpty ? [accesses[0]] : chosen
    }

    private static func choose(_ routes: [QueryRoute], isOrderWanted: Bool) -> Way {
        let byCover = routes.sorted {
            ($0.covered.count, $0.delivered) > ($1.covered.count, $1.delivered)
        }
        guard byCover.count > 1 else { return .route(byCover[0]) }
        guard isOrderWanted else {
            // A route that can be answered from keys alone reads no documents.
            return byCover.first(where: \.isExact).map { .route($0) } ?? .smallest(byCover)
        }
        let unordered = byCover.filter { $0.delivered == 0 }
        let ordered = byCover.filter { $0.delivered > 0 }
        guard
            let best = ordered.max(by: {
                ($0.isOrdered ? 1 : 0, $0.covered.count, $0.delivered)
                    < ($1.isOrdered ? 1 : 0, $1.covered.count, $1.delivered)
            })
        else { return .smallest(unordered) }
        let others = byCover.filter { route in
            !(route.delivered == best.delivered && route.fields == best.fields)
                && (route.delivered == 0 || route.covered.count > best.covered.count)
        }
        return others.isEmpty ? .route(best) : .race(ordered: best, others: others)
    }
}
