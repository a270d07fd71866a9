import DocumentModel
import DocumentStore
import WorkerProtocol

extension EventRoutes {
    /// What the functions are told of.
    init(_ functions: [FunctionManifest]) throws {
        var documents: [DocumentTrigger] = []
        var events: [EventTrigger] = []
        var queues: [String] = []
        for function in functions {
            switch function.trigger {
            case .callable, .http, .schedule: break
            case .document(let trigger):
                documents.append(
                    DocumentTrigger(
                        function: function.name, kind: ChangeKind(trigger.eventType),
                        pattern: try DocumentPattern(trigger.document), isOrdered: trigger.isOrdered))
            case .task: queues.append(function.name)
            case .event(let trigger):
                events.append(
                    EventTrigger(function: function.name, type: trigger.eventType, filters: trigger.filters))
            }
        }
        self.init(documents: documents, events: events, queues: queues)
    }
}

extension EventRoutes.ChangeKind {
    fileprivate init(_ type: DocumentEventType) {
        switch type {
        case .created: self = .created
        case .updated: self = .updated
        case .deleted: self = .deleted
        case .written: self = .written
        }
    }
}
