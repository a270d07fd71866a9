/// Completes reads for threads with a low priority.
///
/// A task that such a thread resumes may need a thread of Swift's that doesn't run yet. Resuming starts it, and it inherits
/// the priority of the thread that resumes, for good.
package final class CompletionThread: Sendable {
    private let completions = JobQueue<@Sendable () -> Void>()

    init() {}

    package func add(_ completion: @escaping @Sendable () -> Void) {
        // Closed only once no reader is left.
        _ = completions.put(completion)
    }

    func run() {
        while let next = completions.take() {
            for completion in next { completion() }
        }
    }

    func close() { completions.close() }
}
