import DocumentModel

extension DocumentStore {
    func query(
        _ query: Query, _ normalized: NormalizedQuery, _ state: ReadState, _ context: OperationContext
    ) throws -> QueryAnswer {
        let meter = parts.meter(context)
        let start = elapsed()
        let plan = normalized.plan(state.view.catalog)
        let results = try noting(query, plan, meter, since: start, state.view.catalog, returned: { $0.count }) {
            try normalized.run(plan, in: state.view, within: readBudget(context), meter)
        }
        return QueryAnswer(documents: results, readTime: state.time)
    }

    func aggregate(
        _ query: Query, _ normalized: NormalizedQuery, _ fields: [AggregateField], _ state: ReadState,
        _ context: OperationContext
    ) throws -> AggregateAnswer {
        let meter = parts.meter(context)
        let start = elapsed()
        let plan = try AggregationPlan(normalized, fields, state.view.catalog)
        let (values, _) = try noting(query, plan.plan, meter, since: start, state.view.catalog, returned: { $0.count })
        {
            try plan.run(in: state.view, meter, maxBytes: configuration.maxReadBytes)
        }
        return AggregateAnswer(values: values, readTime: state.time)
    }

    /// - Parameter fields: the fields of an aggregation; empty for a query.
    func explain(
        _ query: Query, _ normalized: NormalizedQuery, _ fields: [AggregateField], analyze: Bool, _ state: ReadState,
        _ context: OperationContext
    ) throws -> ExplainAnswer {
        let catalog = state.view.catalog
        let meter = parts.meter(context)
        let start = elapsed()
        let aggregation = fields.isEmpty ? nil : try AggregationPlan(normalized, fields, catalog)
        let plan = aggregation?.plan ?? normalized.plan(catalog)
        var explanation = QueryExplanation(plan)
        let suggestion = IndexSuggestion(plan, catalog, isOrderWanted: query.limit != nil)?.json
        guard analyze else {
            explanation.suggestedIndex = suggestion
            return ExplainAnswer(explanation: explanation, documents: [], values: [], readTime: state.time)
        }
        var results: [Document] = []
        var values: [Value] = []
        var returned = 0
        if let aggregation {
            (values, returned) = try aggregation.run(in: state.view, meter, maxBytes: configuration.maxReadBytes)
        } else {
            results = try normalized.run(plan, in: state.view, within: readBudget(context), meter)
            returned = results.count
        }
        explanation.steps += meter.decisions
        explanation.cost = cost(meter, since: start, returned: aggregation == nil ? returned : 1)
        // Only an index that saves most of the reads is suggested.
        if meter.entries + meter.documents > 4 * (returned + 1) { explanation.suggestedIndex = suggestion }
        return ExplainAnswer(
            explanation: explanation, documents: results, values: values, readTime: state.time)
    }

    func readBudget(_ context: OperationContext) -> ReadBudget {
        ReadBudget(configuration.maxReadBytes, answer: context.answer)
    }

    func cost(_ meter: QueryMeter, since start: Duration, returned: Int) -> QueryExplanation.Cost {
        let (seconds, attoseconds) = (elapsed() - start).components
        return QueryExplanation.Cost(
            documentsReturned: returned, indexEntriesRead: meter.entries, documentsRead: meter.documents,
            microseconds: seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }

    /// Runs a query, and reports it if it is costly or ends at a limit.
    func noting<Results>(
        _ query: Query, _ plan: QueryPlan, _ meter: QueryMeter, since start: Duration, _ catalog: IndexCatalog,
        returned: (Results) -> Int, _ body: () throws -> Results
    ) throws -> Results {
        do {
            let results = try body()
            note(query, plan, meter, since: start, returned: returned(results), catalog)
            return results
        } catch let error where meter.isExceeded {
            note(query, plan, meter, since: start, returned: 0, catalog)
            throw error
        }
    }

    /// Reports a query that read much more than it returned, or reached a limit: once an hour for each shape and of each.
    private func note(
        _ query: Query, _ plan: QueryPlan, _ meter: QueryMeter, since start: Duration, returned: Int,
        _ catalog: IndexCatalog
    ) {
        guard let report = configuration.onCostlyQuery, CostlyQueryLog.isCostly(meter, returned: returned) else {
            return
        }
        let shape = CostlyQueryLog.cut(query.shape)
        guard costlyQueries.isDue(meter.isExceeded ? "ended: \(shape)" : shape, at: elapsed()) else { return }
        report(
            CostlyQuery(
                shape: shape, cost: cost(meter, since: start, returned: returned),
                suggestedIndex: IndexSuggestion(plan, catalog, isOrderWanted: query.limit != nil)?.json))
    }
}
