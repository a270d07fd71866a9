package import DocumentModel
import DocumentStore
package import FunctionManifest

extension EventRoutes {
    /// The events that the served functions receive.
    ///
    /// - Throws: ``DocumentPattern/Problem`` for a pattern that the manifest's own check refuses.
    package init(_ functions: [FunctionManifest], maxDepth: Int = 16) throws(DocumentPattern.Problem) {
        var documents: [DocumentTrigger] = []
        var events: [EventTrigger] = []
        var queues: [String] = []
        for function in functions {
            switch function.trigger {
            case .callable, .http, .schedule: break
            case .document(let trigger):
                documents.append(
                    DocumentTrigger(
                        function: function.name, kind: trigger.eventType,
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
