import Foundation

/// Jobs for threads of our own. Putting one in takes a short lock and never waits for the work.
final class JobQueue<Job: Sendable>: @unchecked Sendable {
    // `condition` is held wherever the variables below are touched.
    private let condition = NSCondition()
    private var jobs: [Job] = []
    private var waiting = 0
    private var isClosed = false

    /// - Parameter limit: how many jobs may wait already.
    /// - Returns: false where the queue is closed or full; then the job was not taken.
    func put(_ job: Job, limit: Int = .max) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        guard !isClosed, jobs.count < limit else { return false }
        jobs.append(job)
        if waiting > 0 { condition.signal() }
        return true
    }

    var isEmpty: Bool {
        condition.lock()
        defer { condition.unlock() }
        return jobs.isEmpty
    }

    /// Refuses new jobs; those inside are still taken.
    func close() {
        condition.lock()
        isClosed = true
        condition.broadcast()
        condition.unlock()
    }

    /// Waits for jobs.
    ///
    /// - Returns: all that are there, or as many as asked for; none where the time is over; nil once the queue is
    ///   closed and empty.
    func take(atMost limit: Int = .max, within timeout: Duration? = nil) -> [Job]? {
        condition.lock()
        defer { condition.unlock() }
        if jobs.isEmpty, !isClosed {
            let deadline = timeout.map { Date(timeIntervalSinceNow: $0 / .seconds(1)) }
            waiting += 1
            while jobs.isEmpty, !isClosed {
                if let deadline {
                    guard condition.wait(until: deadline) else { break }
                } else {
                    condition.wait()
                }
            }
            waiting -= 1
        }
        guard !jobs.isEmpty else { return isClosed ? nil : [] }
        if jobs.count <= limit {
            defer { jobs = [] }
            return jobs
        }
        let taken = Array(jobs.prefix(limit))
        jobs.removeFirst(limit)
        return taken
    }
}
