extension TriggerManifest {
    /// Whether the function is started by deliveries and not by requests.
    package var isForEvents: Bool {
        switch self {
        case .callable, .http: false
        case .document, .schedule, .task, .event: true
        }
    }
}

extension FunctionManifest {
    /// How many deliveries are handled at once: as many as the function's workers take, within a task queue's own bound
    /// or 100.
    package var maxConcurrentDeliveries: Int {
        let places = concurrency * maxInstances
        if case .task(let trigger) = trigger { return min(places, trigger.maxConcurrentDispatches) }
        return min(places, 100)
    }
}
