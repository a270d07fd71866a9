extension TriggerManifest {
    /// Whether deliveries start the function, not requests.
    package var isForEvents: Bool {
        switch self {
        case .callable, .http, .blocking: false
        case .document, .reference, .schedule, .task, .event: true
        }
    }

    /// Whether clients, or Google's sign-in, call it at a URL.
    package var hasURL: Bool {
        switch self {
        case .callable, .http, .blocking: true
        case .document, .reference, .schedule, .task, .event: false
        }
    }
}

extension FunctionManifest {
    /// The maximum number of deliveries handled at once: the capacity of the function's workers, capped at the task
    /// queue's own limit or at 100. Runs of a job never overlap unless it says so, also those that are made again.
    package var maxConcurrentDeliveries: Int {
        let places = concurrency * maxInstances
        if case .task(let trigger) = trigger { return min(places, trigger.maxConcurrentDispatches) }
        if case .schedule(let trigger) = trigger, !trigger.overlaps { return 1 }
        return min(places, 100)
    }
}
