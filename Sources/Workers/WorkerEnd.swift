/// The reason why a worker's process has ended. Every end has exactly one.
package enum WorkerEnd: Equatable, Sendable, CustomStringConvertible {
    /// It was idle for long enough.
    case idle
    /// Another release has taken over, and the worker had become idle.
    case release
    /// A handler continued after its deadline or its cancellation.
    case overdue
    /// The worker and the processes it started used more memory than the function may; in bytes.
    case memory(used: Int, limit: Int)
    /// The worker started more processes than the function may.
    case processes(count: Int, limit: Int)
    /// It ended by itself: a trap, an exit, a kill from elsewhere.
    case crash(ProcessStatus)
    /// It violated the link's protocol.
    case violation(String)
    /// It wasn't ready in time.
    case slowStart
    /// The host stops.
    case shutdown

    var isCrash: Bool {
        switch self {
        case .memory, .processes, .crash, .violation, .slowStart: true
        case .idle, .release, .overdue, .shutdown: false
        }
    }

    package var description: String {
        switch self {
        case .idle: "idle"
        case .release: "release"
        case .overdue: "overdue"
        case .memory(let used, let limit):
            // Rounded up, so that it never appears to be within the limit.
            "memory, \((used + (1 << 20) - 1) >> 20) MiB used of \(limit >> 20) MiB"
        case .processes(let count, let limit): "processes, \(count) of \(limit)"
        case .crash(let status): "crash, \(status)"
        case .violation(let reason): "protocol violation, \(reason)"
        case .slowStart: "not ready in time"
        case .shutdown: "shutdown"
        }
    }

    /// The reason alone, for counting.
    var kind: String {
        switch self {
        case .idle: "idle"
        case .release: "release"
        case .overdue: "overdue"
        case .memory: "memory"
        case .processes: "processes"
        case .crash: "crash"
        case .violation: "violation"
        case .slowStart: "slow_start"
        case .shutdown: "shutdown"
        }
    }
}

extension WorkerEnd {
    /// The part of a resident size that doesn't count as a function's memory: programs, their libraries and mapped
    /// files.
    private static let shared = 128 << 20

    /// The end of a process that took too much memory between two samples; nil if it ended for another reason.
    ///
    /// A process that takes memory faster than it is sampled reaches the bound on what it may map, and traps there.
    ///
    /// - Parameter hostResidentKiB: the host's own largest resident size when it started the process: the kernel counts
    ///   the process's from there.
    static func memory(of status: ProcessStatus, limits: WorkerLimits, hostResidentKiB: Int64) -> WorkerEnd? {
        let used = Int(status.maxResidentKiB) << 10
        guard case .signalled = status.outcome, status.maxResidentKiB > hostResidentKiB,
            used > limits.memory + shared
        else { return nil }
        return .memory(used: used, limit: limits.memory)
    }
}

/// How a process ended and what it used.
package struct ProcessStatus: Equatable, Sendable, CustomStringConvertible {
    package enum Outcome: Equatable, Sendable {
        case exited(Int32)
        case signalled(Int32)
    }

    package var outcome: Outcome
    /// CPU time, user and system, in microseconds.
    var cpuMicroseconds: Int64
    /// The largest resident size it ever had, in KiB.
    var maxResidentKiB: Int64
    /// Why it crashed, as it said itself: a fatal error with its place.
    var message: String?

    package init(outcome: Outcome, cpuMicroseconds: Int64, maxResidentKiB: Int64) {
        self.outcome = outcome
        self.cpuMicroseconds = cpuMicroseconds
        self.maxResidentKiB = maxResidentKiB
    }

    package var description: String {
        let end =
            switch outcome {
            case .exited(let code): "exit status \(code)"
            case .signalled(let signal): "signal \(signal)"
            }
        return message.map { "\(end): \($0)" } ?? end
    }
}
