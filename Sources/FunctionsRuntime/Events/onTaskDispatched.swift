import FunctionManifest

/// Handles the tasks of the queue with the function's name.
///
///     onTaskDispatched("sendReceipt", .retry(.attempts(5))) { (request: TaskRequest<Receipt>) in … }
///
/// - Parameters:
///   - name: matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
///   - options: What differs from the bundle's defaults.
///   - handler: Runs at least once for every task. If it throws, the attempt has failed. If the data doesn't decode, the
///     handler doesn't run, and the task is a dead letter.
public func onTaskDispatched<Payload: Decodable & Sendable>(
    _ name: String, _ options: TaskQueueOption...,
    handler: @escaping @Sendable (TaskRequest<Payload>) async throws -> Void
) -> Function {
    queue(name, options, EventHandler({ try TaskRequest($0) }, handler))
}

/// Handles the tasks of a queue. The handler's writes and the task's end are one commit.
public func onTaskDispatched<Payload: Decodable & Sendable>(
    _ name: String, _ options: TaskQueueOption...,
    handler: @escaping @Sendable (TaskRequest<Payload>, Transaction) async throws -> Void
) -> Function {
    queue(name, options, EventHandler({ try TaskRequest($0) }, handler))
}

private func queue(_ name: String, _ options: [TaskQueueOption], _ handler: EventHandler) -> Function {
    Function(name, options) { options in
        let retry = options.retry ?? .exponential()
        let trigger = retry.task(
            concurrency: options.maxConcurrentDispatches, perSecond: options.maxDispatchesPerSecond)
        return (.task(trigger), .event(handler))
    }
}
