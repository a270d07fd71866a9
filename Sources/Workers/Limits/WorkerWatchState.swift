import NIOCore

/// When each worker's use of memory is sampled and what follows from a sample, as a pure state machine.
///
/// A busy worker is sampled often, so that a growing one is found before it takes memory from others. An idle worker,
/// as most are most of the time, is sampled less often until its memory changes.
struct WorkerWatchState {
    /// A worker's process id, which is also that of its group.
    typealias ID = Int32

    struct Limits: Equatable {
        var memory: Int
        var processes: Int
    }

    /// A sample of a worker and the processes that it has started.
    struct Sight: Equatable {
        /// The total bytes of memory of their own.
        var memory: Int
        var processes: Int
        /// Whether it runs an invocation.
        var isBusy: Bool
    }

    enum Verdict: Equatable {
        /// - Parameter isIdle: whether the worker is sampled less often from now on, until ``markActive(_:now:)``.
        case fine(isIdle: Bool)
        /// The sum may count shared memory twice: measure it exactly and call ``measured(_:memory:took:now:)``.
        case measure
        case kill(WorkerEnd)
    }

    private struct Watched {
        let limits: Limits
        var lookAt: NIODeadline
        /// The time since which the worker has had no work and hasn't grown; nil while it is busy.
        var calmSince: NIODeadline?
        var memory = 0
        var isIdle = false
        /// Whether the last sample was over the limit.
        var wasOver = false
        /// How long it took to measure it exactly; zero if its last sample was within the limit.
        var measuring = TimeAmount.zero
    }

    static let closeInterval = TimeAmount.milliseconds(50)
    /// A worker that grows in the background is killed after at most two of these intervals.
    static let idleInterval = TimeAmount.milliseconds(100)
    /// A process that is being started shares all of its parent's memory for a moment.
    static let againInterval = TimeAmount.milliseconds(10)
    /// How long a worker is still sampled often after its last invocation.
    private static let calmTime = TimeAmount.seconds(1)
    /// Memory that changes by less counts as unchanged.
    private static let growth = 1 << 20
    /// Samples that are due this soon are taken with the current one: each wake-up has a cost.
    private static let slack = TimeAmount.milliseconds(5)
    /// Exact measures take at most a tenth of the time of the thread, which starts and ends all workers.
    private static let measuringParts = 10
    /// A worker that is measured exactly is sampled at least this often.
    private static let longestInterval = TimeAmount.seconds(5)

    private var watched: [ID: Watched] = [:]

    /// Whether no worker is sampled often.
    var areAllIdle: Bool { watched.values.allSatisfy(\.isIdle) }

    func isIdle(_ id: ID) -> Bool { watched[id]?.isIdle ?? false }

    /// When the next sample is due; nil without workers.
    var nextLook: NIODeadline? { watched.values.map(\.lookAt).min() }

    mutating func began(_ id: ID, limits: Limits, now: NIODeadline) {
        watched[id] = Watched(limits: limits, lookAt: now + Self.closeInterval)
    }

    mutating func ended(_ id: ID) { watched[id] = nil }

    /// The worker received work after it was idle.
    mutating func markActive(_ id: ID, now: NIODeadline) {
        guard var worker = watched[id] else { return }
        worker.calmSince = nil
        worker.isIdle = false
        worker.lookAt = min(worker.lookAt, now + Self.closeInterval)
        watched[id] = worker
    }

    func due(now: NIODeadline) -> [ID] {
        watched.filter { $0.value.lookAt <= now + Self.slack }.keys.sorted()
    }

    mutating func saw(_ id: ID, _ sight: Sight, now: NIODeadline) -> Verdict {
        guard var worker = watched[id] else { return .fine(isIdle: true) }
        defer { watched[id] = worker }
        let limits = worker.limits
        worker.lookAt = now + Self.closeInterval
        guard sight.processes <= limits.processes else {
            return .kill(.processes(count: sight.processes, limit: limits.processes))
        }
        guard sight.memory <= limits.memory else {
            return sight.processes > 1 ? .measure : .kill(.memory(used: sight.memory, limit: limits.memory))
        }
        worker.wasOver = false
        worker.measuring = .zero
        let grew = abs(sight.memory - worker.memory) > Self.growth
        worker.memory = sight.memory
        worker.isIdle = false
        if sight.isBusy || grew {
            worker.calmSince = nil
            return .fine(isIdle: false)
        }
        let calmSince = worker.calmSince ?? now
        worker.calmSince = calmSince
        guard now - calmSince >= Self.calmTime else { return .fine(isIdle: false) }
        worker.isIdle = true
        worker.lookAt = now + Self.idleInterval
        return .fine(isIdle: true)
    }

    /// - Parameters:
    ///   - memory: bytes, none counted twice.
    ///   - took: how long it took to measure it.
    mutating func measured(_ id: ID, memory: Int, took: TimeAmount = .zero, now: NIODeadline) -> Verdict {
        guard var worker = watched[id] else { return .fine(isIdle: true) }
        defer { watched[id] = worker }
        worker.measuring = took
        guard memory > worker.limits.memory else {
            worker.wasOver = false
            let others = watched.filter { $0.key != id }.values.map(\.measuring)
            let pause = Self.measuringParts * others.reduce(took, +)
            worker.lookAt = max(worker.lookAt, now + min(pause, Self.longestInterval))
            return .fine(isIdle: false)
        }
        guard worker.wasOver else {
            worker.wasOver = true
            worker.lookAt = now + Self.againInterval
            return .fine(isIdle: false)
        }
        return .kill(.memory(used: memory, limit: worker.limits.memory))
    }
}
