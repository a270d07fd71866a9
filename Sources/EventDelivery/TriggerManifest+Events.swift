package import WorkerProtocol

extension TriggerManifest {
    /// Whether the function is started by deliveries and not by requests.
    package var isForEvents: Bool {
        switch self {
        case .callable, .http: false
        case .document, .schedule, .task, .event: true
        }
    }
}
