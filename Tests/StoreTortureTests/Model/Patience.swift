import Synchronization

/// Waits for what must come, and not for ever.
enum Patience {
    private static let limit: Duration = .seconds(3600)

    /// - Throws: `Disagreement` if nothing came in time; the work itself goes on.
    static func wait<Answer: Sendable>(
        for what: @autoclosure () -> String, _ body: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let complaint = Disagreement(step: nil, description: "no answer within \(limit) to \(what())")
        return try await withCheckedThrowingContinuation { continuation in
            let once = Once(continuation)
            let alarm = Task {
                try await Task.sleep(for: limit)
                once.resume(.failure(complaint))
            }
            Task {
                do { once.resume(.success(try await body())) } catch { once.resume(.failure(error)) }
                alarm.cancel()
            }
        }
    }

    /// A continuation that the first of two tasks resumes.
    private final class Once<Answer: Sendable>: Sendable {
        private let waiting: Mutex<CheckedContinuation<Answer, any Error>?>

        init(_ continuation: CheckedContinuation<Answer, any Error>) { waiting = Mutex(continuation) }

        func resume(_ result: Result<Answer, any Error>) {
            let continuation = waiting.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }
            continuation?.resume(with: result)
        }
    }
}
