import DocumentModel
import DocumentStore
import WorkerProtocol

extension EventRoutes {
    /// What the served functions are told of.
    ///
    /// - Throws: ``DocumentPattern/Problem`` for a pattern that a manifest's own check refuses.
    init(_ functions: [FunctionManifest], maxDepth: Int) throws(DocumentPattern.Problem) {
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
            case .event(let trigger):
                events.append(
                    EventTrigger(function: function.name, type: trigger.eventType, filters: trigger.filters))
            case .task: queues.append(function.name)
            }
        }
        self.init(documents: documents, events: events, queues: queues, maxDepth: maxDepth)
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

extension TriggerManifest {
    /// Whether the function is started by deliveries and not by requests.
    var isForEvents: Bool {
        switch self {
        case .callable, .http: false
        case .document, .schedule, .task, .event: true
        }
    }
}
