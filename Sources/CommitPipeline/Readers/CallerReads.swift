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
    private struct Waiting {
        let job: any SnapshotJob
        let arrival: Int
    }

    private let condition = NSCondition()
    // `condition` is held by all code that uses the variables below.
    private var queue: FairQueue<ReadCaller, Waiting>
    private var arrivals = 0
    private var running: [ReadCaller: Int] = [:]
    private var waitingThreads = 0
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
        guard !isClosed, queue.append(Waiting(job: job, arrival: arrivals), of: caller) else { return false }
        arrivals += 1
        wakeThread()
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
    /// - Parameter last: whose job has ended before, if any.
    /// - Returns: the job, and the number of the next one to arrive; nil once the queue is closed and empty.
    func take(after last: ReadCaller?) -> (caller: ReadCaller, job: any SnapshotJob, end: Int)? {
        condition.lock()
        defer { condition.unlock() }
        if let last {
            let left = (running[last] ?? 1) - 1
            running[last] = left == 0 ? nil : left
        }
        while true {
            if let next = queue.popFirst(where: mayRun), let caller = next.key {
                running[caller, default: 0] += 1
                // That of the caller that has ended may be left.
                wakeThread()
                return (caller, next.element.job, arrivals)
            }
            if isClosed, queue.isEmpty {
                condition.broadcast()
                return nil
            }
            waitingThreads += 1
            condition.wait()
            waitingThreads -= 1
        }
    }

    /// Takes the next job if no other caller waits, and if it was already waiting when `take` returned `end`.
    func takeNext(of caller: ReadCaller, before end: Int) -> (any SnapshotJob)? {
        condition.lock()
        defer { condition.unlock() }
        guard queue.callers == 1, let first = queue.first, first.arrival < end else { return nil }
        return queue.popFirst { $0 == caller }?.element.job
    }

    private func mayRun(_ caller: ReadCaller?) -> Bool { caller.map { running[$0] ?? 0 < maxRunning } ?? false }

    /// Wakes a thread if there is something that it may do.
    private func wakeThread() {
        if waitingThreads > 0, queue.contains(where: mayRun) { condition.signal() }
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
        var last: ReadCaller?
        while let (caller, job, end) = reads.take(after: last) {
            serve(job, of: caller, before: end)
            last = caller
        }
        session = nil
    }

    /// Runs a job. Others that its caller has waiting see the same state, as long as they take little time and no other
    /// caller waits.
    private func serve(_ first: any SnapshotJob, of caller: ReadCaller, before end: Int) {
        guard first.isWanted else { return completions.add { first.fail(.callerLeft) } }
        var hasRun = false
        do {
            let session = try self.session ?? SnapshotSession(engine.makeReadSession(), completions: completions)
            self.session = session
            try session.read { snapshot in
                let start = ContinuousClock.now
                var job = first
                while true {
                    hasRun = true
                    if job.isWanted {
                        job.run(on: snapshot)
                    } else {
                        completions.add { [job] in job.fail(.callerLeft) }
                    }
                    guard ContinuousClock.now - start < Self.maxTime, let next = reads.takeNext(of: caller, before: end)
                    else { return }
                    job = next
                }
            }
        } catch {
            let failure = DocumentError(from: error)
            if !hasRun { completions.add { first.fail(failure) } }
        }
    }

    /// How long one state is used for several jobs.
    private static let maxTime: Duration = .milliseconds(1)
}
