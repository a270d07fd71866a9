extension TriggerManifest {
    /// What starts the function, in a line for people.
    package func summary(urls: [String]) -> String {
        switch self {
        case .callable: "callable at " + urls.joined(separator: ", ")
        case .http: "HTTP at " + urls.joined(separator: ", ")
        case .document(let trigger): "document \(trigger.document) \(trigger.eventType.rawValue)"
        case .schedule(let trigger): "schedule \"\(trigger.schedule)\" (\(trigger.timeZone))"
        }
    }
}
