import DocumentModel
import Foundation
import Sharing
import StorageEngine

/// A caller whose reads take turns with those of others.
package enum ReadCaller: Hashable, Sendable {
    /// A client's short reads and the decisions on its small commits, by the owner of its operations.
    case clientGet(UInt64)
    /// A client's queries, likewise.
    case client(UInt64)
    /// The decisions on a client's large commits, likewise.
    case clientCommit(UInt64)
    /// Commands of operators, metrics, and what else looks at much and is in no hurry.
    case maintenance
}

/// Reads of one kind that may take long, of callers that could ask for many: they are served in turn by caller, a few of
/// each at a time, by threads of their own.
final class CallerReads: @unchecked Sendable {
    private let condition = NSCondition()
    // `condition` is held by all code that uses the variables below.
    private var queue: FairQueue<ReadCaller, any SnapshotJob>
    private var running: [ReadCaller: Int] = [:]
    private var isClosed = false
    /// How many threads serve them.
    let threads: Int
    /// How many reads of one caller may run at the same time.
    private let maxRunning: Int

    init(places: Int, threads: Int, maxRunning: Int) {
        queue = FairQueue(places: places)
        self.threads = max(threads, 1)
        self.maxRunning = max(maxRunning, 1)
    }

    /// - Returns: false if the queue is closed, or has no place for the caller; the job was not taken then.
    func put(_ job: any SnapshotJob, of caller: ReadCaller) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        guard !isClosed, queue.append(job, of: caller) else { return false }
        condition.signal()
        return true
    }

    /// Refuses new jobs; those in the queue are still taken.
    func close() {
        condition.lock()
        isClosed = true
        condition.broadcast()
        condition.unlock()
    }

    /// Waits for a job of a caller that has few running.
    ///
    /// - Returns: nil once the queue is closed and empty.
    fileprivate func take() -> (caller: ReadCaller, job: any SnapshotJob)? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let next = queue.popFirst(where: { caller in caller.map { running[$0] ?? 0 < maxRunning } ?? false }),
                let caller = next.key
            {
                running[caller, default: 0] += 1
                return (caller, next.element)
            }
            if isClosed, queue.isEmpty { return nil }
            condition.wait()
        }
    }

    fileprivate func ended(_ caller: ReadCaller) {
        condition.lock()
        let left = (running[caller] ?? 1) - 1
        running[caller] = left == 0 ? nil : left
        // One for the caller's next read; all threads end once the queue is closed and empty.
        if isClosed { condition.broadcast() } else { condition.signal() }
        condition.unlock()
    }
}

/// One thread that serves callers in turn, each job on a snapshot of its own.
final class CallerReader: @unchecked Sendable {
    private let reads: CallerReads
    private let engine: any StorageEngine
    private let completions: CompletionThread
    // Used only by the thread that calls `run`. Opened for the first job: many stores have none.
    private var session: SnapshotSession?

    init(_ reads: CallerReads, _ engine: any StorageEngine, _ completions: CompletionThread) {
        self.reads = reads
        self.engine = engine
        self.completions = completions
    }

    func run() {
        while let (caller, job) = reads.take() {
            serve(job)
            reads.ended(caller)
        }
        session = nil
    }

    private func serve(_ job: any SnapshotJob) {
        guard job.isWanted else { return completions.add { job.fail(.callerLeft) } }
        var hasRun = false
        do {
            let session = try self.session ?? SnapshotSession(engine.makeReadSession(), completions: completions)
            self.session = session
            try session.read { snapshot in
                hasRun = true
                job.run(on: snapshot)
            }
        } catch {
            let failure = DocumentError(from: error)
            if !hasRun { completions.add { job.fail(failure) } }
        }
    }
}
