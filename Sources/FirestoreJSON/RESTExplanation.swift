package import DocumentModel
package import StrictJSON

/// Whether a query that is explained is also run.
package struct RESTExplainOptions {
    package var analyze = false

    package init(analyze: Bool = false) {
        self.analyze = analyze
    }
}

extension JSONNode {
    /// Reads `{"analyze": …}`.
    package func explainOptions() throws(JSONProblem) -> RESTExplainOptions {
        var options = RESTExplainOptions()
        for member in try members() {
            guard member.key == "analyze" else { throw member.unknown }
            options.analyze = try member.value.boolean()
        }
        return options
    }
}

extension QueryExplanation {
    /// Reads `ExplainMetrics`. Services report more or less of it; missing parts are left empty.
    package init(rest node: JSONNode) throws(JSONProblem) {
        self.init(indexes: [], steps: [])
        let plan = node["planSummary"]
        for index in try plan?["indexesUsed"]?.elements() ?? [] {
            indexes.append(
                IndexUse(
                    scope: try index["query_scope"]?.string() ?? "", properties: try index["properties"]?.string() ?? ""
                ))
        }
        for step in try plan?["steps"]?.elements() ?? [] { steps.append(try step.string()) }
        suggestedIndex = try plan?["suggested_index"]?.string()
        guard let statistics = node["executionStats"] else { return }
        func count(_ node: JSONNode?) throws(JSONProblem) -> Int {
            guard let node else { return 0 }
            guard let count = Int32(exactly: try node.integer()), count >= 0 else {
                throw node.problem("\(node.summary) is not 0 … 2147483647")
            }
            return Int(count)
        }
        let debug = statistics["debugStats"]
        cost = Cost(
            documentsReturned: try count(statistics["resultsReturned"]),
            indexEntriesRead: try count(debug?["index_entries_scanned"]),
            documentsRead: try count(debug?["documents_scanned"]),
            microseconds: try statistics["executionDuration"]?.microseconds() ?? 0)
    }
}

extension QueryExplanation {
    /// Counted as Firestore bills them: one for each document; for an aggregation, one for each thousand index entries; at
    /// least one.
    package func readOperations(isAggregation: Bool) -> Int {
        guard let cost else { return 0 }
        return max(1, isAggregation ? (cost.indexEntriesRead + 999) / 1000 : cost.documentsReturned)
    }
}

extension JSONNode {
    /// Reads a duration such as `0.001500s`.
    fileprivate func microseconds() throws(JSONProblem) -> Int64 {
        let text = try string()
        guard text.utf8.last == UInt8(ascii: "s"), let seconds = Double(text.dropLast()),
            let microseconds = Int64(exactly: (seconds * 1_000_000).rounded()), microseconds >= 0
        else { throw problem("\(summary) is not a duration") }
        return microseconds
    }
}

extension JSONWriter {
    /// Writes an element with the metrics alone.
    package mutating func explainElement(_ explanation: QueryExplanation, isAggregation: Bool) {
        raw("{")
        explainMetrics(explanation, isAggregation: isAggregation)
        raw("}")
    }

    /// Writes the member that contains the metrics, which the last element has.
    package mutating func explainMetrics(_ explanation: QueryExplanation, isAggregation: Bool) {
        raw("\"explainMetrics\":{\"planSummary\":{\"indexesUsed\":")
        array(explanation.indexes) { text, index in
            text.raw("{\"query_scope\":")
            text.string(index.scope)
            text.raw(",\"properties\":")
            text.string(index.properties)
            text.raw("}")
        }
        raw(",\"steps\":")
        array(explanation.steps) { $0.string($1) }
        if let index = explanation.suggestedIndex {
            raw(",\"suggested_index\":")
            string(index)
        }
        raw("}")
        if let cost = explanation.cost {
            raw(",\"executionStats\":{\"resultsReturned\":")
            string(String(isAggregation ? 1 : cost.documentsReturned))
            raw(",\"executionDuration\":")
            string(Self.seconds(cost.microseconds))
            raw(",\"readOperations\":")
            string(String(explanation.readOperations(isAggregation: isAggregation)))
            raw(",\"debugStats\":{\"index_entries_scanned\":")
            string(String(cost.indexEntriesRead))
            raw(",\"documents_scanned\":")
            string(String(cost.documentsRead))
            raw("}}")
        }
        raw("}")
    }

    /// A duration in protobuf's JSON format, such as `0.001500s`.
    private static func seconds(_ microseconds: Int64) -> String {
        let fraction = String(microseconds % 1_000_000)
        return "\(microseconds / 1_000_000).\(String(repeating: "0", count: 6 - fraction.utf8.count))\(fraction)s"
    }
}
