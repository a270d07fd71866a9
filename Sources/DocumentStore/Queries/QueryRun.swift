import DocumentModel

extension NormalizedQuery {
    /// The documents of the result, in order, with the selected fields.
    ///
    /// - Parameters:
    ///   - budget: how large the result may be.
    ///   - meter: counts what is read.
    /// - Throws: `StorageError`, or `DecodingFailure` if the store is damaged.
    func run(
        in view: DocumentView, within budget: ReadBudget = ReadBudget(.max), meter: QueryMeter = QueryMeter()
    ) throws -> [Document] {
        if query.limit == 0 { return [] }
        return try run(plan(view.catalog), in: view, within: budget, meter)
    }

    func plan(_ catalog: IndexCatalog) -> QueryPlan {
        QueryPlan(self, catalog, isOrderWanted: query.limit != nil)
    }

    func run(
        _ plan: QueryPlan, in view: DocumentView, within budget: ReadBudget, _ meter: QueryMeter
    ) throws -> [Document] {
        try plan.explainingLimits(view.catalog) {
            var budget = budget
            var documents: [Document] = []
            let limit = query.limit ?? .max
            // What a sort holds, with the fields of filters and orders, may be larger than what the answer has of it.
            let isAll = query.limit == nil && query.offset == 0 && query.projection == nil
            let places = try PlaceReader(
                plan, view, meter, maxBytes: budget.limit, within: isAll ? budget.beforeAnswer : nil)
            while documents.count < limit, let place = try places.next() {
                let document = project(place.document)
                try budget.take(query.projection == nil ? place.weight : document.weight)
                documents.append(document)
            }
            return documents
        }
    }
}

/// The places of a query's result after its offset, one by one. The caller applies the limit.
struct PlaceReader {
    private let stream: any PlaceStream

    /// - Parameters:
    ///   - maxBytes: the weight of the documents that may be held while they are sorted.
    ///   - budget: the budget for everything that is found.
    init(
        _ plan: QueryPlan, _ view: DocumentView, _ meter: QueryMeter, maxBytes: Int, within budget: ReadBudget? = nil
    ) throws {
        let query = plan.query
        let context = QueryContext(
            query: query, view: view, meter: meter,
            needed: query.query.limit.map { $0.addingReportingOverflow(query.query.offset) }
                .map { $0.overflow ? .max : $0.partialValue } ?? .max,
            maxBytes: maxBytes / max(plan.parts.count, 1), maxKeyBytes: maxBytes > .max / 4 ? .max : maxBytes / 2 * 3,
            budget: budget,
            needsValues: plan.needsValues || view.past != nil)
        var streams = try plan.parts.map { try $0.stream(context) }
        if view.past != nil { streams.append(try Self.replaced(context)) }
        stream = streams.count == 1 ? streams[0] : MergedStream(query, streams)
        var left = query.query.offset
        if left > 0, let route = stream as? RouteStream { left -= try route.skip(left) }
        while left > 0, try stream.next() != nil { left -= 1 }
    }

    func next() throws -> QueryPlace? { try stream.next() }

    /// The earlier states of documents that have changed since.
    private static func replaced(_ context: QueryContext) throws -> ListStream {
        let query = context.query
        var sorter = PlaceSorter(context)
        try context.view.forEachReplaced(query, context.meter) { document in
            guard query.matches(document) else { return }
            var place = query.place(of: document)
            place.weight = document.weight
            if query.isBetweenCursors(place) { try sorter.add(place) }
        }
        return ListStream(sorter.take(), context.view)
    }
}

extension QueryPlan {
    /// Whether places of several sources are compared.
    fileprivate var needsValues: Bool {
        if parts.count > 1 { return true }
        if case .race = parts.first?.way { return true }
        return false
    }
}

extension QueryPlan.Part {
    fileprivate func stream(_ context: QueryContext) throws -> any PlaceStream {
        switch way {
        case .document(let path): return try document(path, context)
        case .route(let route): return RouteStream(route, context)
        case .smallest(let routes):
            var rivals = RouteRivals(routes, context.view, context.meter)
            let route = try rivals.decide()
            context.meter.decisions.append("found that \(route.summary) has the fewest")
            return RouteStream(route, context)
        case .race(let ordered, let others): return RaceStream(ordered: ordered, others: others, context)
        }
    }

    private func document(_ path: DocumentPath, _ context: QueryContext) throws -> ListStream {
        let query = context.query
        guard query.covers(path) else { return ListStream() }
        guard let bytes = try context.view.stored(path) else { return ListStream() }
        try context.meter.readDocument(bytes.count)
        let document = try StoredDocument.decode(bytes, path: path, fields: query.decodedFields)
        var place = query.place(of: document)
        place.weight = document.weight
        guard query.matches(document), query.isBetweenCursors(place) else { return ListStream() }
        return ListStream(SortedPlaces(reversed: [place]), context.view)
    }
}
