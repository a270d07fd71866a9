import StorageEngine
import DocumentModel

/// The plan of an aggregation: of a query whose documents have all the fields that are summed up.
struct AggregationPlan {
    private static let maxScanned = 10_000
    /// The keys that are counted in one step of the engine, about half a millisecond: the meter can't end a step.
    static let maxCounted = 4096

    let query: NormalizedQuery
    let plan: QueryPlan
    private let start: Aggregator
    /// Whether the result depends on which documents come first.
    private let isOrdered: Bool

    /// - Throws: `invalidArgument` with the rule that the aggregation violates.
    init(_ asked: NormalizedQuery, _ fields: [AggregateField], _ catalog: IndexCatalog) throws(DocumentError) {
        try Aggregator.check(fields)
        let start = Aggregator(fields)
        self.start = start
        let query = asked.query
        let isPart = query.limit != nil || query.offset > 0
        isOrdered = isPart && !start.summed.isEmpty
        var normalized = asked
        normalized.required = start.summed
        if !isPart, query.start == nil, query.end == nil, start.summed.count == 1 {
            // Any order gives the same result, and in the order of the field the keys contain its numbers.
            var inOrder = query
            inOrder.orderBy = [Query.Order(start.summed[0])]
            let ordered = normalized.orders.map(\.field).filter { !$0.isDocumentID && $0 != start.summed[0] }
            normalized = try NormalizedQuery(inOrder, required: start.summed + ordered)
        }
        normalized.decodeOnly([])
        self.query = normalized
        plan = QueryPlan(normalized, catalog, isOrderWanted: isOrdered && query.limit != nil)
    }

    /// The results, one for each aggregation field.
    ///
    /// - Parameter maxBytes: how many stored bytes of documents may be held if they must be sorted.
    func run(in view: DocumentView, _ meter: QueryMeter, maxBytes: Int) throws -> (values: [Value], count: Int) {
        try plan.explainingLimits(view.catalog) { try results(in: view, meter, maxBytes: maxBytes) }
    }

    private func results(
        in view: DocumentView, _ meter: QueryMeter, maxBytes: Int
    ) throws -> (values: [Value], count: Int) {
        var result = start
        let query = query.query
        guard query.limit != 0 else { return (result.values, 0) }
        var counter = Counter()
        if isOrdered {
            let places = try PlaceReader(plan, view, meter, maxBytes: maxBytes)
            while counter.count < query.limit ?? .max, let place = try places.next() {
                result.add(place.document)
                counter.count += 1
            }
            return (result.values, counter.count)
        }
        let limit = [query.limit, start.enough].compactMap { $0 }.min()
        counter.bound = limit.map { $0.addingReportingOverflow(query.offset) }.map {
            $0.overflow ? .max : $0.partialValue
        }
        for index in plan.parts.indices where !counter.isFull {
            try run(plan.parts[index], in: view, meter, &result, &counter)
        }
        if !counter.isFull { try addReplaced(in: view, meter, &result, &counter) }
        result.clamp(offset: query.offset, limit: query.limit)
        return (result.values, counter.count)
    }

    /// Counts documents, and tells when the count is high enough.
    private struct Counter {
        var count = 0
        var bound: Int?
        var isFull: Bool { bound.map { count >= $0 } ?? false }
    }

    private func run(
        _ part: QueryPlan.Part, in view: DocumentView, _ meter: QueryMeter, _ result: inout Aggregator,
        _ counter: inout Counter
    ) throws {
        let route: QueryRoute
        switch part.way {
        case .document(let path):
            // A document that has changed since is among the replaced ones.
            guard query.covers(path), let bytes = try view.storage.get(.documents, DocumentKeys.key(of: path))
            else { return }
            try meter.readDocument(bytes.count)
            let document = try StoredDocument.decode(bytes, path: path, fields: self.query.decodedFields)
            if view.sees(document), query.matches(document), isBetweenCursors(document), isFirst(part, document) {
                result.add(document)
                counter.count += 1
            }
            return
        case .route(let only): route = only
        case .smallest(let routes), .race(_, let routes):
            var rivals = RouteRivals(routes, view, meter)
            route = try rivals.decide()
        }
        if view.past == nil, part.isApart, let how = keys(route) {
            return try run(route, by: how, in: view, meter, &result, &counter)
        }
        let hits = HitStream(route, view.storage, meter, expecting: 64)
        while !counter.isFull, let hit = try hits.next() {
            guard let document = try route.document(of: hit, in: view, meter), route.admits(document),
                !route.checksCursors || isBetweenCursors(document), isFirst(part, document)
            else { continue }
            result.add(document)
            counter.count += 1
        }
    }

    /// Whether no earlier disjunct has the document too.
    private func isFirst(_ part: QueryPlan.Part, _ document: Document) -> Bool {
        part.isApart
            || !query.disjuncts[..<part.disjunct].contains { leaves in
                leaves.allSatisfy { query.matches(document, $0) }
            }
    }

    private func isBetweenCursors(_ document: Document) -> Bool {
        query.isBetweenCursors(query.place(of: document))
    }

    private enum KeyUse {
        case count
        /// The number to aggregate is the last value of each key.
        case number
    }

    /// What the keys alone can provide; nil if documents must be read.
    private func keys(_ route: QueryRoute) -> KeyUse? {
        guard route.isExact else { return nil }
        if start.summed.isEmpty { return .count }
        return start.summed.count == 1 && route.fields.last?.path == start.summed[0] ? .number : nil
    }

    private func run(
        _ route: QueryRoute, by use: KeyUse, in view: DocumentView, _ meter: QueryMeter, _ result: inout Aggregator,
        _ counter: inout Counter
    ) throws {
        if use == .count, route.accesses.count == 1, counter.bound.map({ $0 > Self.maxScanned }) ?? true {
            let table = route.accesses[0].table
            for var range in route.keyRanges(0) {
                while !counter.isFull {
                    let next = try view.storage.key(table, range, after: Self.maxCounted)
                    let entries = next == nil ? try view.storage.count(table, range) : Self.maxCounted
                    try meter.readEntries(entries)
                    counter.count += entries
                    result.add(count: entries)
                    guard let next else { break }
                    range.lower = next
                }
            }
            return
        }
        let hits = HitStream(route, view.storage, meter, expecting: 256, isKeyEnough: use == .count)
        while !counter.isFull, let hit = try hits.next() {
            counter.count += 1
            if use == .count { result.add(count: 1) } else { result.add(number: route.lastNumber(of: hit)) }
        }
    }

    /// Adds the earlier states of documents that have changed since.
    private func addReplaced(
        in view: DocumentView, _ meter: QueryMeter, _ result: inout Aggregator, _ counter: inout Counter
    ) throws {
        try view.forEachReplaced(query, meter) { document in
            guard !counter.isFull, query.matches(document), isBetweenCursors(document) else { return }
            result.add(document)
            counter.count += 1
        }
    }
}

extension QueryRoute {
    /// The number that a key's last value is; nil if it is another kind of value.
    func lastNumber(of hit: IndexHit) -> Value? {
        var start = accesses[0].prefix.count
        for field in fields.dropLast() {
            start = ValueKeyReader.end(in: hit.key, from: start, isInverted: field.descending != isReversed[0]).end
        }
        guard let last = fields.last else { return nil }
        return ValueKeyReader.number(
            in: hit.key, at: start, isInverted: last.descending != isReversed[0], isDouble: hit.isDouble)
    }
}
