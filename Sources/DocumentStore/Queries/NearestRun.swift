import DocumentModel

extension NormalizedQuery {
    /// The candidates of a search: documents with a value in the searched field.
    ///
    /// - Throws: `invalidArgument` if the query limits its result by itself.
    init(_ query: Query, nearest search: VectorSearch) throws(DocumentError) {
        try QueryLeaf.check(search.field)
        guard query.limit == nil else { throw .invalidArgument("a query limit cannot be used with findNearest") }
        guard query.offset == 0 else { throw .invalidArgument("a query offset cannot be used with findNearest") }
        guard query.start == nil, query.end == nil else {
            throw .invalidArgument("a cursor cannot be used with findNearest")
        }
        try self.init(query, required: [search.field])
    }
}

/// The nearest documents so far. It holds about twice as many as are wanted, so that most candidates cost no sorting.
private struct NearestDocuments {
    private struct Candidate {
        var document: Document
        var distance: Double
        /// Among equal distances, the query's order decides.
        var index: Int
    }

    private let search: VectorSearch
    private let query: NormalizedQuery
    private let maxBytes: Int
    private var candidates: [Candidate] = []
    private var count = 0
    private var bytes = 0
    /// A candidate that doesn't precede this distance isn't in the result.
    private var worst: Double?

    init(_ search: VectorSearch, _ query: NormalizedQuery, maxBytes: Int) {
        self.search = search
        self.query = query
        self.maxBytes = maxBytes
    }

    /// - Throws: `resourceExhausted` if the nearest documents alone are larger than an answer may be.
    mutating func add(_ found: Document) throws(DocumentError) {
        guard let distance = search.distance(of: found), search.isWithin(distance) else { return }
        if let worst, !search.precedes(distance, worst) { return }
        // Without the fields that the query doesn't select, often the vector too.
        let document = query.project(found)
        candidates.append(Candidate(document: document, distance: distance, index: count))
        count += 1
        bytes += document.weight
        if candidates.count >= 2 * search.limit + 64 || bytes > maxBytes { prune() }
        guard bytes <= maxBytes else {
            throw DocumentError(
                .resourceExhausted,
                "one answer may hold about \(maxBytes / 1_048_576) MiB, the limit; lower findNearest.limit")
        }
    }

    private mutating func prune() {
        sort()
        guard candidates.count > search.limit else { return }
        candidates.removeLast(candidates.count - search.limit)
        bytes = candidates.reduce(0) { $0 + $1.document.weight }
        worst = candidates.last?.distance
    }

    private mutating func sort() {
        let search = search
        candidates.sort { a, b in
            if search.precedes(a.distance, b.distance) { return true }
            if search.precedes(b.distance, a.distance) { return false }
            return a.index < b.index
        }
    }

    mutating func take() -> [Document] {
        sort()
        return candidates.prefix(search.limit).map { search.marked($0.document, distance: $0.distance) }
    }
}

extension DocumentStore {
    /// Compares every candidate with the vector: exact, at the cost of the query without limit.
    func nearest(
        _ search: VectorSearch, _ query: NormalizedQuery, isRun: Bool, _ state: ReadState, _ context: OperationContext
    ) throws -> ExplainAnswer {
        let meter = parts.meter(context)
        let start = elapsed()
        let plan = QueryPlan(query, state.view.catalog, isOrderWanted: false)
        var explanation = QueryExplanation(plan)
        explanation.steps.append(
            "compare \(search.field) of each document with the vector (\(search.measure.rawValue)), keep the nearest "
                + "\(search.limit)")
        var results: [Document] = []
        if isRun {
            let maxBytes = configuration.maxReadBytes
            results = try noting(query.query, plan, meter, since: start, state.view.catalog, returned: \.count) {
                try plan.explainingLimits(state.view.catalog) {
                    var nearest = NearestDocuments(search, query, maxBytes: maxBytes)
                    let places = try PlaceReader(plan, state.view, meter, maxBytes: maxBytes)
                    while let place = try places.next() { try nearest.add(place.document) }
                    var budget = readBudget(context)
                    return try nearest.take().map { document in
                        // The distance counts as a field.
                        let document = query.project(document)
                        try budget.take(document.weight)
                        return document
                    }
                }
            }
            explanation.steps += meter.decisions
            explanation.cost = cost(meter, since: start, returned: results.count)
        }
        return ExplainAnswer(explanation: explanation, documents: results, values: [], readTime: state.time)
    }
}
