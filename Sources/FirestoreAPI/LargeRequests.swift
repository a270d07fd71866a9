import Dispatch

/// Where large requests are decoded: one at a time, on a thread of their own, so that small ones don't wait for them.
///
/// Swift's own threads are as many as processors, and decoding some MiB keeps one busy for a tenth of a second.
final class LargeRequests: TaskExecutor {
    static let shared = LargeRequests()

    /// The size of a body from which it counts as large. It is decoded in about a millisecond.
    static let leastBytes = 128 * 1024

    private let queue = DispatchQueue(label: "firestore.large-requests", qos: .utility)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
