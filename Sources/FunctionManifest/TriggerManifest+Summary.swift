import DocumentModel

extension TriggerManifest {
    /// A one-line, human-readable description of the trigger.
    package func summary(urls: [String]) -> String {
        switch self {
        case .callable: "callable at " + urls.joined(separator: ", ")
        case .http: "HTTP at " + urls.joined(separator: ", ")
        case .document(let trigger): "document \(trigger.document) \(trigger.eventType.rawValue)"
        case .reference(let trigger):
            "value \(trigger.reference) \(trigger.eventType.rawValue)"
                + (trigger.instance == "*" ? "" : " in \(trigger.instance)")
        case .schedule(let trigger): "schedule \"\(trigger.schedule)\" (\(trigger.timeZone))"
        case .task: "tasks"
        case .blocking(let trigger): "blocking, \(trigger.moment.rawValue)"
        case .event(let trigger):
            "event \(trigger.eventType)"
                + trigger.filters.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        }
    }
}
