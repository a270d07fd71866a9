import RealtimeModel
import RealtimeStore

extension StoreRealtimeDatabase {
    /// Records an operation once it has ended, if an admin watches.
    ///
    /// - Parameter bytes: what it has answered; nil for what the operation has.
    func profiled<Success>(
        _ operation: @autoclosure () -> ProfiledOperation,
        _ completion: @escaping @Sendable (Result<Success, RealtimeServiceError>) -> Void,
        bytes: @escaping @Sendable (Success) -> Int? = { _ in nil }
    ) -> @Sendable (Result<Success, RealtimeServiceError>) -> Void {
        guard profile.isWatched else { return completion }
        let (operation, start) = (operation(), shared.now())
        return { [self] result in
            var operation = operation
            let now = shared.now()
            operation.milliseconds = max(0, now - start)
            operation.isAllowed = true
            switch result {
            case .success(let success): operation.bytes = bytes(success) ?? operation.bytes
            case .failure(let error): operation.isAllowed = error != .permissionDenied
            }
            // The report divides by how often there are bytes.
            operation.bytes = operation.bytes ?? 0
            profile.record(operation, at: now)
            completion(result)
        }
    }

    /// Records a change that listens are sent.
    func recordBroadcast(of push: RealtimePush, to listens: Int) {
        var operation = ProfiledOperation(.broadcast, at: push.target.path)
        operation.milliseconds = 0
        operation.listens = listens
        // Most of them need the frames.
        operation.bytes = listens * push.frameBytes(tag: nil)
        profile.record(operation, at: shared.now())
    }
}

extension RealtimeContent {
    /// Nil for a value that is streamed.
    var bytesInMemory: Int? { if case .bytes(let bytes) = self { bytes.count } else { nil } }
}
