import DocumentModel
import DocumentStore
import Logging

extension IndexEvent {
    func log(to logger: Logger) {
        switch self {
        case .building(let index): logger.info("index is being built", metadata: index.logMetadata)
        case .ready(let index): logger.info("index is ready", metadata: index.logMetadata)
        case .dropping(let index): logger.info("index is being dropped", metadata: index.logMetadata)
        case .dropped(let index): logger.info("index is dropped", metadata: index.logMetadata)
        case .changingFields(let id):
            logger.info("single-field indexes are being changed", metadata: ["index.collection": "\(id)"])
        case .changedFields(let id):
            logger.info("single-field indexes are changed", metadata: ["index.collection": "\(id)"])
        case .rebuilding: logger.info("all indexes are being rebuilt")
        case .rebuilt: logger.info("all indexes are rebuilt")
        case .progress(let id, let documents):
            logger.info(
                "index work in progress",
                metadata: ["index.collection": "\(id ?? "*")", "index.documents": "\(documents)"])
        case .skipped(let error):
            logger.error(
                "a document can't be decoded and isn't indexed; run data check",
                metadata: ["error": "\(error.message)"])
        case .failed(let error):
            logger.error("index work failed and is retried", metadata: ["error": "\(error.message)"])
        }
    }
}

extension IndexDefinition {
    fileprivate var logMetadata: Logger.Metadata {
        let fields = fields.map { field in
            switch field.kind {
            case .ascending: "\(field.path) ASCENDING"
            case .descending: "\(field.path) DESCENDING"
            case .contains: "\(field.path) CONTAINS"
            }
        }
        return [
            "index.collection": "\(collectionID)",
            "index.scope": scope == .collection ? "COLLECTION" : "COLLECTION_GROUP",
            "index.fields": .array(fields.map { "\($0)" }),
        ]
    }
}
