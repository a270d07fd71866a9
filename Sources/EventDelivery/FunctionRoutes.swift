package import CommitPipeline
package import DocumentModel
package import DocumentStore
package import FunctionManifest
import RealtimeStore

/// The events that functions receive, as their manifests say.
package struct FunctionRoutes: Sendable {
    package var events: EventRoutes
    package var documents: [DocumentTrigger]

    /// - Throws: ``DocumentPattern/Problem`` for a pattern that a manifest's own check refuses.
    package init(_ functions: [FunctionManifest], maxDepth: Int = 16) throws(DocumentPattern.Problem) {
        var documents: [DocumentTrigger] = []
        var references: [RealtimeTrigger] = []
        var events: [EventRoutes.EventTrigger] = []
        var queues: [String] = []
        for function in functions {
            switch function.trigger {
            case .callable, .http, .schedule, .blocking: break
            case .document(let trigger):
                documents.append(
                    DocumentTrigger(
                        function: function.name, kind: trigger.eventType,
                        pattern: try DocumentPattern(trigger.document), isOrdered: trigger.isOrdered))
            case .reference(let trigger):
                references.append(
                    RealtimeTrigger(
                        function: function.name, kind: trigger.eventType,
                        instance: try InstancePattern(trigger.instance),
                        pattern: try ReferencePattern(trigger.reference), isOrdered: trigger.isOrdered))
            case .event(let trigger):
                events.append(
                    EventRoutes.EventTrigger(
                        function: function.name, type: trigger.eventType, filters: trigger.filters))
            case .task: queues.append(function.name)
            }
        }
        self.documents = documents
        self.events = EventRoutes(events: events, queues: queues, maxDepth: maxDepth)
        if !references.isEmpty { RealtimeTriggers(references).add(to: &self.events) }
    }
}

extension DocumentStore {
    /// Delivers events of commits to these functions from now on.
    package func routeEvents(by routes: FunctionRoutes) { routeEvents(by: routes.events, documents: routes.documents) }
}
