import Dispatch
import Semaphore
import Synchronization

/// Where one caller's large requests are decoded and its large answers rendered: on a thread of their own, which all
/// callers share in turns, so that small requests never wait for large ones, and one caller's large ones not for all
/// those of another.
///
/// Swift's own threads are as many as processors, and decoding some MiB keeps one busy for a tenth of a second.
final class LargeRequests: TaskExecutor {
    /// The size of a body from which it counts as large. It is decoded in about a millisecond.
    static let leastBytes = 128 * 1024

    private static let queue = DispatchQueue(label: "firestore.large-requests", qos: .utility)
    private static let jobs = Mutex(FairQueue<UInt64, (job: UnownedJob, executor: LargeRequests)>(places: .max))

    private let caller: UInt64

    /// - Parameter caller: a number that stands for the caller's address; all without one share a turn.
    init(of caller: UInt64?) { self.caller = caller ?? 0 }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Self.jobs.withLock { _ = $0.append((job, self), of: caller) }
        Self.queue.async {
            guard let next = Self.jobs.withLock({ $0.popFirst() }) else { return }
            next.job.runSynchronously(on: next.executor.asUnownedTaskExecutor())
        }
    }
}
