import DocumentModel
import FirestoreJSON
import FirestoreMessages
import GoogleREST
import StrictJSON

/// Counts, sums and averages over the results of a query.
extension DocumentREST {
    func runAggregationQuery(
        _ path: RESTPath, _ body: RESTBody, _ principal: Principal
    ) async throws(DocumentError) -> StreamedAnswer {
        let parent = try path.parent()
        let (aggregation, selector, explains) = try body.read(as: FSRunAggregationQueryRequest.self) {
            (root) throws(JSONProblem) in
            var aggregation: RESTAggregation?
            var selector = RESTConsistencySelector.strong
            var explains: RESTExplainOptions?
            for member in try root.members() {
                if try selector.read(member) { continue }
                switch member.key {
                case "structuredAggregationQuery": aggregation = try member.value.aggregation(parent: parent)
                case "explainOptions": explains = try member.value.explainOptions()
                case "parent": try checkParent(member.value, parent)
                default: throw member.unknown
                }
            }
            guard let aggregation else { throw root.problem("a request needs its structuredAggregationQuery") }
            return (aggregation, selector, explains)
        }
        try database.check(aggregation.query)
        return try await reading(selector, principal) { (consistency) throws(DocumentError) in
            guard let explains else {
                let found = try await service.aggregate(
                    aggregation.query, aggregation.fields, consistency, as: principal)
                return StreamedAnswer.Elements.none.followed {
                    $0.aggregates(aggregation.aliases, found.values, at: found.readTime)
                }
            }
            let explained = try await service.explain(
                aggregation.query, aggregation.fields, analyze: explains.analyze, consistency, as: principal)
            var elements = StreamedAnswer.Elements.none
            if explains.analyze {
                elements = elements.followed {
                    $0.aggregates(aggregation.aliases, explained.values, at: explained.readTime)
                }
            }
            return elements.followed { $0.explainElement(explained.explanation, isAggregation: true) }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func aggregates(_ aliases: [String], _ values: [Value], at readTime: Timestamp) {
        raw("{\"result\":{\"aggregateFields\":{")
        list(zip(aliases, values)) { text, field in
            text.key(field.0)
            text.value(field.1)
        }
        raw("}}")
        self.readTime(readTime)
    }
}
