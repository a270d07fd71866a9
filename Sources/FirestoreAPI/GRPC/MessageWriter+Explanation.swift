import DocumentModel
import FirestoreJSON
import FirestoreMessages
import SwiftProtobuf

extension MessageWriter {
    /// What REST's `explainMetrics` has. A `PlanSummary` has no place for steps and a suggested index, so they are among the
    /// statistics of a query that was run.
    static func metrics(_ explanation: QueryExplanation, isAggregation: Bool) -> FSExplainMetrics {
        var metrics = FSExplainMetrics()
        metrics.planSummary.indexesUsed = explanation.indexes.map { index in
            Google_Protobuf_Struct(fields: ["query_scope": .init(index.scope), "properties": .init(index.properties)])
        }
        guard let cost = explanation.cost else { return metrics }
        var statistics = FSExecutionStats()
        statistics.resultsReturned = Int64(isAggregation ? 1 : cost.documentsReturned)
        statistics.executionDuration = Google_Protobuf_Duration(
            seconds: cost.microseconds / 1_000_000, nanos: Int32(cost.microseconds % 1_000_000) * 1000)
        statistics.readOperations = Int64(explanation.readOperations(isAggregation: isAggregation))
        statistics.debugStats.fields = [
            "index_entries_scanned": .init(String(cost.indexEntriesRead)),
            "documents_scanned": .init(String(cost.documentsRead)),
            "steps": .init(stringValue: explanation.steps.joined(separator: "; ")),
        ]
        if let index = explanation.suggestedIndex {
            statistics.debugStats.fields["suggested_index"] = .init(stringValue: index)
        }
        metrics.executionStats = statistics
        return metrics
    }
}

extension Google_Protobuf_Value {
    fileprivate init(_ text: String) { self.init(stringValue: text) }
}
