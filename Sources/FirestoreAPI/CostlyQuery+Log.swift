import DocumentModel
import DocumentStore
package import Logging

extension CostlyQuery {
    /// Logs the query, with the suggested index in the format of `firestore.indexes.json`.
    package func log(to logger: Logger) {
        var metadata: Logger.Metadata = [
            "query.shape": "\(shape)",
            "query.returned": "\(cost.documentsReturned)",
            "query.entries": "\(cost.indexEntriesRead)",
            "query.documents": "\(cost.documentsRead)",
            "query.microseconds": "\(cost.microseconds)",
        ]
        if let suggestedIndex { metadata["query.index"] = "\(suggestedIndex)" }
        logger.warning("query read much more than it returned", metadata: metadata)
    }
}
