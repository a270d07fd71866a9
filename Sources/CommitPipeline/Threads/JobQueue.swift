/// Jobs for threads of our own. Adding one takes a short lock and never waits for the work.
public final class JobQueue<Job: Sendable>: @unchecked Sendable {
    // `condition` is held by all code that uses the variables below.
    @usableFromInline let condition: MonotonicCondition
    @usableFromInline var jobs: [Job]
    @usableFromInline var waiting: Int
    @usableFromInline var isClosed: Bool

    @inlinable
    public init() {
        condition = MonotonicCondition()
        jobs = []
        waiting = 0
        isClosed = false
    }

    /// - Parameters:
    ///   - limit: refuses the job if this many are already waiting.
    ///   - isUrgent: false leaves a thread asleep: the job only has to come before the next one.
    /// - Returns: false if the queue is closed or full; the job was not taken then.
    @inlinable
    public func put(_ job: Job, limit: Int = .max, isUrgent: Bool = true) -> Bool {
        add(isUrgent: isUrgent) { jobs in
            guard jobs.count < limit else { return false }
            jobs.append(job)
            return true
        }
    }

    /// Adds jobs that follow each other.
    ///
    /// - Returns: false if the queue is closed; none was taken then.
    @inlinable
    public func put(contentsOf new: [Job]) -> Bool {
        add(isUrgent: !new.isEmpty) { jobs in
            jobs += new
            return true
        }
    }

    @inlinable
    func add(isUrgent: Bool, _ change: (inout [Job]) -> Bool) -> Bool {
        condition.lock()
        let isTaken = !isClosed && change(&jobs)
        let mustWake = isTaken && isUrgent && waiting > 0
        condition.unlock()
        // A thread that wakes up while the lock is held has to wait for it.
        if mustWake { condition.signal() }
        return isTaken
    }

    @inlinable
    public var isEmpty: Bool {
        condition.lock()
        defer { condition.unlock() }
        return jobs.isEmpty
    }

    /// Refuses new jobs; those in the queue are still taken.
    @inlinable
    public func close() {
        condition.lock()
        isClosed = true
        condition.broadcast()
        condition.unlock()
    }

    /// Waits for jobs.
    ///
    /// - Returns: all waiting jobs; none after the timeout; nil once the queue is closed and empty.
    @inlinable
    public func take(within timeout: Duration? = nil) -> [Job]? {
        condition.lock()
        defer { condition.unlock() }
        wait(within: timeout)
        var taken: [Job] = []
        swap(&taken, &jobs)
        return taken.isEmpty && isClosed ? nil : taken
    }

    /// Called with the lock held.
    @inlinable
    func wait(within timeout: Duration?) {
        if jobs.isEmpty, !isClosed {
            let deadline = timeout.map { ContinuousClock.now + $0 }
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
    }
}
