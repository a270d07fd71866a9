import DocumentModel

/// Numbers about the documents of a query.
extension DocumentREST {
    func runAggregationQuery(
        _ path: RESTPath, _ body: RESTBody, _ principal: Principal
    ) async throws(DocumentError) -> JSONText {
        let parent = try path.parent()
        let (aggregation, selector, explains) = try body.read { (root) throws(JSONProblem) in
            var aggregation: RESTAggregation?
            var selector = RESTSelector.strong
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
        try check(aggregation.query)
        return try await reading(selector, principal) { (consistency, text) throws(DocumentError) in
            guard let explains else {
                let (values, time) = try await aggregate(aggregation.query, aggregation.fields, consistency, principal)
                return text.aggregates(aggregation.aliases, values, at: time)
            }
            let explained = try await explain(
                aggregation.query, aggregation.fields, analyze: explains.analyze, consistency, principal)
            if explains.analyze { text.aggregates(aggregation.aliases, explained.values, at: explained.readTime) }
            text.element()
            text.explainMetrics(explained.explanation, isAggregation: true)
        }
    }
}

/// A `StructuredAggregationQuery`: what is counted and summed, and under which names it is answered.
private struct RESTAggregation {
    var query: Query
    var fields: [AggregateField]
    /// One for each field.
    var aliases: [String]
}

extension JSONNode {
    fileprivate func aggregation(parent: DocumentPath?) throws(JSONProblem) -> RESTAggregation {
        var query: Query?
        var fields: [AggregateField] = []
        var aliases: [String?] = []
        for member in try members() {
            switch member.key {
            case "structuredQuery": query = try member.value.structuredQuery(parent: parent)
            case "aggregations":
                for element in try member.value.elements() {
                    let (field, alias) = try element.aggregateField()
                    fields.append(field)
                    aliases.append(alias)
                }
            default: throw member.unknown
            }
        }
        guard let query else { throw problem("an aggregation needs its structuredQuery") }
        guard (1...AggregateField.maxCount).contains(fields.count) else {
            throw problem(
                "a query has 1 to \(AggregateField.maxCount) aggregations, the limit, and not \(fields.count)")
        }
        // The nameless ones are counted by themselves.
        var number = 0
        let names = aliases.map { alias in
            if let alias { return alias }
            number += 1
            return "field_\(number)"
        }
        for (index, name) in names.enumerated() where names[..<index].contains(name) {
            throw problem("two aggregations have the alias \"\(name)\"")
        }
        return RESTAggregation(query: query, fields: fields, aliases: names)
    }

    private func aggregateField() throws(JSONProblem) -> (AggregateField, alias: String?) {
        var field: AggregateField?
        var alias: String?
        for member in try members() {
            if member.key == "alias" {
                alias = try member.value.alias()
                continue
            }
            guard field == nil else {
                throw JSONProblem(offset: member.offset, message: "an aggregation does one thing; this is its second")
            }
            switch member.key {
            case "count": field = .count(upTo: try member.value.upTo())
            case "sum": field = .sum(try member.value.aggregatedField())
            case "avg": field = .average(try member.value.aggregatedField())
            default: throw member.unknown
            }
        }
        guard let field else { throw problem("an aggregation needs one of count, sum and avg") }
        return (field, alias)
    }

    /// An empty one is none.
    private func alias() throws(JSONProblem) -> String? {
        let alias = try string()
        guard !alias.isEmpty else { return nil }
        do throws(DocumentError) {
            try DocumentLimits.checkFieldName(alias)
        } catch {
            throw problem(error.message)
        }
        return alias
    }

    private func upTo() throws(JSONProblem) -> Int? {
        var limit: Int?
        for member in try members() {
            guard member.key == "upTo" else { throw member.unknown }
            let value = try member.value.integer()
            guard value >= 0 else { throw member.value.problem("upTo is not negative") }
            limit = Int(value)
        }
        return limit
    }

    private func aggregatedField() throws(JSONProblem) -> FieldPath {
        for member in try members() {
            guard member.key == "field" else { throw member.unknown }
            let path = try member.value.fieldReference()
            guard !path.isDocumentID else { throw member.value.problem("__name__ is no number") }
            return path
        }
        throw problem("a sum or an average needs its field")
    }
}

extension JSONText {
    fileprivate mutating func aggregates(_ aliases: [String], _ values: [Value], at readTime: Timestamp) {
        element()
        raw("{\"result\":{\"aggregateFields\":{")
        list(zip(aliases, values)) { text, field in
            text.key(field.0)
            text.value(field.1)
        }
        raw("}}")
        self.readTime(readTime)
    }
}
