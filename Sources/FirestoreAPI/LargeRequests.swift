import DocumentModel
import Sharing
import Synchronization

/// Where one caller's large requests are received, or decoded, or its large answers rendered: each on a thread of its own,
/// which all callers share in turns, so that small requests never wait for large ones, and one caller's large ones not for all
/// those of another.
///
/// Swift's own threads are as many as processors, and decoding some MiB keeps one busy for a tenth of a second.
final class LargeRequests: TaskExecutor {
    /// The size of a body from which it counts as large. It is decoded in about a millisecond.
    static let leastBytes = 128 * 1024

    /// A thread, and the jobs that wait for it.
    final class Line: Sendable {
        /// Its steps are short: a body's parts don't wait for what is decoded.
        static let receiving = Line("firestore.large-bodies")
        static let decoding = Line("firestore.large-requests")
        static let rendering = Line("firestore.large-answers")

        private let work: LongWork
        private let jobs = Mutex(FairQueue<UInt64, (job: UnownedJob, executor: LargeRequests)>(places: .max))

        private init(_ label: String) { work = LongWork(label) }

        fileprivate func add(_ job: UnownedJob, _ executor: LargeRequests) {
            jobs.withLock { _ = $0.append((job, executor), of: executor.caller) }
            work.add { [self] in
                guard let next = jobs.withLock({ $0.popFirst() }) else { return }
                next.job.runSynchronously(on: next.executor.asUnownedTaskExecutor())
            }
        }
    }

    private let line: Line
    private let caller: UInt64

    /// - Parameter caller: a number that stands for the caller's address; all without one share a turn.
    init(_ line: Line, of caller: UInt64?) {
        self.line = line
        self.caller = caller ?? 0
    }

    func run<Answer: Sendable>(
        _ body: @Sendable () async throws(DocumentError) -> Answer
    ) async throws(DocumentError) -> Answer {
        try await withTaskExecutorPreference(self) { () async -> Result<Answer, DocumentError> in
            do throws(DocumentError) { return .success(try await body()) } catch { return .failure(error) }
        }.get()
    }

    /// Decodes a message of so many bytes, where large ones are decoded if it is large.
    static func decode<Message: Sendable>(
        _ bytes: Int, of caller: UInt64?, _ body: @Sendable () throws(DocumentError) -> Message
    ) async throws(DocumentError) -> Message {
        guard bytes >= leastBytes else { return try body() }
        return try await LargeRequests(.decoding, of: caller).run { () throws(DocumentError) in try body() }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        line.add(UnownedJob(job), self)
    }
}
