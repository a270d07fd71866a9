package import DocumentModel
package import StrictJSON

/// A `StructuredAggregationQuery`: the query, its aggregations, and the aliases of their results.
package struct RESTAggregation {
    package var query: Query
    package var fields: [AggregateField]
    /// One alias for each field.
    package var aliases: [String]
}

extension JSONNode {
    package func aggregation(parent: DocumentPath?) throws(JSONProblem) -> RESTAggregation {
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
        guard let query else { throw problem("an aggregation needs structuredQuery") }
        guard (1...AggregateField.maxCount).contains(fields.count) else {
            throw problem(
                "a query has \(fields.count) aggregations; the maximum number of aggregations is \(AggregateField.maxCount)"
            )
        }
        // Aggregations without an alias are numbered separately.
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
                throw JSONProblem(
                    offset: member.offset, message: "an aggregation has only one operation; this is the second")
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

    /// Reads an alias; nil if it is empty.
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
            guard value >= 0 else { throw member.value.problem("upTo must not be negative") }
            limit = Int(value)
        }
        return limit
    }

    private func aggregatedField() throws(JSONProblem) -> FieldPath {
        for member in try members() {
            guard member.key == "field" else { throw member.unknown }
            let path = try member.value.fieldReference()
            guard !path.isDocumentID else { throw member.value.problem("__name__ is not a number") }
            return path
        }
        throw problem("a sum or an average needs field")
    }
}

extension JSONWriter {
    /// Writes a `StructuredAggregationQuery`, in which each field's alias is its position.
    package mutating func aggregation(_ query: Query, _ fields: [AggregateField]) {
        raw("{\"structuredQuery\":")
        structuredQuery(query)
        raw(",\"aggregations\":")
        array(zip(fields.indices, fields)) { text, field in
            text.raw("{\"alias\":")
            text.string(RESTAggregation.alias(field.0))
            text.raw(",")
            text.aggregate(field.1)
            text.raw("}")
        }
        raw("}")
    }

    private mutating func aggregate(_ field: AggregateField) {
        switch field {
        case .count(nil): raw("\"count\":{}")
        case .count(let upTo?):
            raw("\"count\":{\"upTo\":")
            string(String(upTo))
            raw("}")
        case .sum(let field):
            raw("\"sum\":{\"field\":")
            fieldReference(field)
            raw("}")
        case .average(let field):
            raw("\"avg\":{\"field\":")
            fieldReference(field)
            raw("}")
        }
    }
}

extension RESTAggregation {
    /// The alias of a field in requests that we send.
    package static func alias(_ index: Int) -> String { "field_\(index + 1)" }
}
