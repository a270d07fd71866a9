import DequeModule
package import NIOCore

/// Which worker of a function runs which invocation, as a pure state machine: events in, actions out.
///
/// The states of a worker: starting → ready ⇄ blocked → draining → gone; it may go from any of them. An invocation is
/// queued, then running in one worker until it ends, or is taken back from one that hasn't begun it.
package struct WorkerPoolState: Equatable {
    typealias WorkerID = UInt64

    /// An invocation as the pool knows it.
    struct Ticket: Hashable, Sendable {
        var invocation: UInt64
        /// The gateway loop that the invocation lives on.
        var loop: Int

        init(invocation: UInt64, loop: Int) {
            self.invocation = invocation
            self.loop = loop
        }
    }

    enum Action: Equatable, Sendable {
        case start(WorkerID)
        case dispatch(Ticket, to: WorkerID)
        /// The queue is full, or its caller has enough places in it.
        case refuse(Ticket)
        /// No worker could be started for it.
        case fail(Ticket)
        /// Close the worker's links: nothing runs in it, and it ends by that.
        case end(WorkerID)
        /// Kill the worker: all that still runs in it was given up.
        case kill(WorkerID)
        /// Take back from the worker what its threads aren't free to begin: see ``recalled(_:from:wasAbandoned:now:)``.
        case recall(WorkerID)
        /// Call ``tick(now:)`` then.
        case wake(at: NIODeadline)
    }

    package struct Limits: Equatable, Sendable {
        var concurrency: Int
        var minInstances: Int
        var maxInstances: Int
        var queue: Int
        /// How many workers may be on their start at a time: more would only make each other slow.
        var maxStarting: Int
        /// How long a worker without work is kept.
        var keepAlive: TimeAmount

        package init(
            concurrency: Int, minInstances: Int, maxInstances: Int, queue: Int, maxStarting: Int,
            keepAlive: TimeAmount = .minutes(5)
        ) {
            self.concurrency = concurrency
            self.minInstances = minInstances
            self.maxInstances = maxInstances
            self.queue = queue
            self.maxStarting = max(1, maxStarting)
            self.keepAlive = keepAlive
        }
    }

    private struct Worker: Equatable {
        enum Phase: Equatable {
            case starting, ready
            /// Ready, but for something that blocks its threads.
            case blocked
            case draining
        }

        let id: WorkerID
        var phase = Phase.starting
        var running = 0
        /// How many of those running were given up: answered long ago, and still not stopped.
        var abandoned = 0
        var idleSince: NIODeadline
    }

    private let limits: Limits
    private var workers: [Worker] = []
    private var queue: FairQueue<Caller, Ticket>
    /// Recalled invocations. They are dispatched before the queue and don't count against its limit, because they were
    /// admitted already.
    private var returned: Deque<Ticket> = []
    private var nextID: WorkerID = 1
    private(set) var isStopping = false
    /// Whether another release has taken over: what was routed here is still done, and no worker is kept for more.
    private(set) var isDraining = false
    /// How many workers have to be ready before anything is routed here; nil once the pool has begun.
    private var probed: Int?
    /// Crashes since a worker last ended an invocation well; each makes the pause before the next start longer.
    private var crashes = 0
    private var mayStartAt = NIODeadline.distantPast
    /// The earliest ``tick(now:)`` that has been asked for and not come yet.
    private var nextWake: NIODeadline?

    init(limits: Limits) {
        self.limits = limits
        queue = FairQueue(places: limits.queue)
    }

    var queued: Int { queue.count + returned.count }
    var instances: Int { workers.count }
    /// Workers that take calls, or will again when they are free to.
    var readyWorkers: Int { workers.count { $0.phase == .ready || $0.phase == .blocked } }
    /// Whether as many are ready as a probe has asked for.
    var isProbed: Bool { readyWorkers >= probed ?? 0 }

    /// The pool begins: workers that are kept warm are started.
    mutating func began(now: NIODeadline) -> [Action] {
        probed = nil
        return startAsNeeded(now: now)
    }

    /// - Parameter caller: the sender, evaluated only if the ticket has to wait; nil for the host itself.
    mutating func arrived(_ ticket: Ticket, of caller: @autoclosure () -> Caller? = nil, now: NIODeadline) -> [Action] {
        if isStopping { return [.refuse(ticket)] }
        if queued == 0, let index = freeWorker() {
            workers[index].running += 1
            return [.dispatch(ticket, to: workers[index].id)]
        }
        guard queue.append(ticket, of: caller()) else { return [.refuse(ticket)] }
        return startAsNeeded(now: now)
    }

    /// A queued invocation's caller is gone or its time is over.
    /// - Returns: whether it was queued.
    mutating func withdrew(_ ticket: Ticket, of caller: Caller? = nil) -> Bool {
        if let index = returned.firstIndex(of: ticket) {
            returned.remove(at: index)
            return true
        }
        return queue.remove(ticket, of: caller)
    }

    mutating func workerBecameReady(_ id: WorkerID, now: NIODeadline) -> [Action] {
        guard let index = index(id), workers[index].phase == .starting else { return [] }
        workers[index].phase = .ready
        workers[index].idleSince = now
        if isStopping { return retire(index) }
        var actions = dispatchQueued(to: index)
        if isDraining {
            actions += retireIfIdle(index)
        } else {
            // With one more than before, others that have long been idle may be too many.
            for index in workers.indices { actions += wakeForIdle(index) }
        }
        return actions + startAsNeeded(now: now)
    }

    /// An invocation in the worker has ended: its handler has returned.
    /// - Parameter wasAbandoned: whether it was reported to ``abandoned(in:now:)`` before.
    mutating func ended(in id: WorkerID, wasAbandoned: Bool = false, now: NIODeadline) -> [Action] {
        guard let index = index(id) else { return [] }
        crashes = 0
        workers[index].running -= 1
        if wasAbandoned { workers[index].abandoned -= 1 }
        if workers[index].phase == .blocked { workers[index].phase = .ready }
        guard workers[index].phase == .ready else { return endIfDrained(index) }
        let actions = dispatchQueued(to: index)
        guard workers[index].running == 0 else { return actions }
        workers[index].idleSince = now
        return actions + (isDraining ? retireIfIdle(index) : wakeForIdle(index))
    }

    /// An invocation doesn't stop, though it was cancelled and given time. Its worker gets no more work, and is
    /// killed as soon as nothing else runs in it.
    mutating func abandoned(in id: WorkerID, now: NIODeadline) -> [Action] {
        guard let index = index(id) else { return [] }
        workers[index].abandoned += 1
        let actions = retire(index)
        return (actions.isEmpty ? [.recall(id)] : actions) + startAsNeeded(now: now)
    }

    /// A worker gave back an invocation whose handler it hasn't begun, as something blocks its threads. It is the first
    /// to run elsewhere; the worker gives back the others too, and gets no more work until something in it ends.
    /// - Parameters:
    ///   - ticket: nil if its client doesn't wait any more.
    ///   - wasAbandoned: whether it was reported to ``abandoned(in:now:)`` before.
    mutating func recalled(
        _ ticket: Ticket?, from id: WorkerID, wasAbandoned: Bool = false, now: NIODeadline
    ) -> [Action] {
        var actions: [Action] = []
        if let index = index(id) {
            workers[index].running -= 1
            if wasAbandoned { workers[index].abandoned -= 1 }
            if workers[index].phase == .ready {
                workers[index].phase = .blocked
                if workers[index].running > 0 { actions.append(.recall(id)) }
            }
            if workers[index].phase == .draining {
                actions += endIfDrained(index)
            } else if workers[index].running == 0 {
                // No invocation blocks it any more, so no end of one would report that it is free.
                actions += retire(index)
            }
        }
        guard let ticket else { return actions + startAsNeeded(now: now) }
        if isStopping { return actions + [.refuse(ticket)] }
        if let free = freeWorker() {
            workers[free].running += 1
            return actions + [.dispatch(ticket, to: workers[free].id)]
        }
        returned.prepend(ticket)
        return actions + startAsNeeded(now: now)
    }

    /// One of the worker's links is closed, so that its process has ended or will: it gets no more work. What ran in it
    /// is lost, and ends with ``workerEnded(_:crashed:now:)``.
    mutating func workerBroke(_ id: WorkerID) {
        guard let index = index(id), [.ready, .blocked].contains(workers[index].phase) else { return }
        workers[index].phase = .draining
    }

    /// A worker's process has ended.
    /// - Parameter crashed: whether it ended by itself and not because the host had asked it to.
    mutating func workerEnded(_ id: WorkerID, crashed: Bool, now: NIODeadline) -> [Action] {
        guard let index = index(id) else { return [] }
        let worker = workers.remove(at: index)
        guard crashed else { return startAsNeeded(now: now) }
        // It has shown what was to be seen.
        if probed != nil { probed = 0 }
        crashes += 1
        mayStartAt = now + Self.pause(afterCrashes: crashes)
        var actions: [Action] = []
        if worker.phase == .starting && workers.isEmpty && crashes >= Self.startsTried {
            // Nothing shows that the next start would go better; callers get an answer instead of a wait.
            actions = removeQueued().map { .fail($0) }
        }
        return actions + startAsNeeded(now: now)
    }

    mutating func tick(now: NIODeadline) -> [Action] {
        if let wake = nextWake, wake <= now { nextWake = nil }
        var actions: [Action] = []
        var spare = workers.count { $0.phase == .ready } - limits.minInstances
        for index in workers.indices where spare > 0 {
            let worker = workers[index]
            if worker.phase == .ready && worker.running == 0 && worker.idleSince + limits.keepAlive <= now {
                actions += retire(index)
                spare -= 1
            }
        }
        for index in workers.indices { actions += wakeForIdle(index) }
        return actions + startAsNeeded(now: now)
    }

    /// No more work is taken, and every worker ends once it has nothing left to do.
    /// Tickets still queued are refused.
    mutating func stop() -> [Action] {
        isStopping = true
        let refused = removeQueued().map { Action.refuse($0) }
        return refused + workers.indices.flatMap { retire($0) }
    }

    /// Another release has taken over. What comes nevertheless, having been routed here before, is done all the same.
    mutating func drain() -> [Action] {
        isDraining = true
        return workers.indices.flatMap { retireIfIdle($0) }
    }

    /// Ends workers that have nothing to do and needn't be kept warm.
    mutating func retireIdleWorkers() -> [Action] {
        if probed != nil { probed = 0 }
        var spare = workers.count { $0.phase == .ready } - limits.minInstances
        var actions: [Action] = []
        for index in workers.indices where spare > 0 {
            let retired = retireIfIdle(index)
            if !retired.isEmpty { spare -= 1 }
            actions += retired
        }
        return actions
    }

    /// Starts workers before anything is routed here, until the given number is ready: to see whether they become ready,
    /// and to take over from as many.
    mutating func probe(_ count: Int, now: NIODeadline) -> [Action] {
        probed = min(count, limits.maxInstances)
        return startAsNeeded(now: now)
    }

    // MARK: Parts

    static let startsTried = 3

    /// Nothing after the first crash, then 100 ms, doubled with each crash up to 10 s.
    static func pause(afterCrashes crashes: Int) -> TimeAmount {
        crashes <= 1 ? .zero : .milliseconds(min(100 << Int64(min(crashes - 2, 10)), 10_000))
    }

    private func index(_ id: WorkerID) -> Int? { workers.firstIndex { $0.id == id } }

    /// The fullest worker that has room: the others may then become idle and go.
    private func freeWorker() -> Int? {
        var best: Int?
        for index in workers.indices where workers[index].phase == .ready {
            guard workers[index].running < limits.concurrency else { continue }
            if best.map({ workers[$0].running < workers[index].running }) ?? true { best = index }
        }
        return best
    }

    private mutating func dispatchQueued(to index: Int) -> [Action] {
        guard queued > 0 else { return [] }
        var actions: [Action] = []
        while workers[index].running < limits.concurrency, let ticket = returned.popFirst() ?? queue.popFirst() {
            workers[index].running += 1
            actions.append(.dispatch(ticket, to: workers[index].id))
        }
        return actions
    }

    private mutating func removeQueued() -> [Ticket] {
        defer { returned = [] }
        return returned + queue.removeAll()
    }

    private mutating func retireIfIdle(_ index: Int) -> [Action] {
        workers[index].phase == .ready && workers[index].running == 0 ? retire(index) : []
    }

    private mutating func retire(_ index: Int) -> [Action] {
        workers[index].phase = .draining
        return endIfDrained(index)
    }

    private func endIfDrained(_ index: Int) -> [Action] {
        let worker = workers[index]
        if worker.running == 0 { return [.end(worker.id)] }
        return worker.running == worker.abandoned ? [.kill(worker.id)] : []
    }

    private mutating func wakeForIdle(_ index: Int) -> [Action] {
        guard workers[index].phase == .ready, workers[index].running == 0 else { return [] }
        let time = workers[index].idleSince + limits.keepAlive
        if let nextWake, nextWake <= time { return [] }
        // Counts ready workers only: until more than `minInstances` are ready, a tick would retire none.
        guard workers.count(where: { $0.phase == .ready }) > limits.minInstances else { return [] }
        return wake(at: time)
    }

    /// Asks for a tick, unless an earlier one is on its way: a busy function becomes idle thousands of times a second.
    private mutating func wake(at time: NIODeadline) -> [Action] {
        if let nextWake, nextWake <= time { return [] }
        nextWake = time
        return [.wake(at: time)]
    }

    /// Starts workers until those starting have room for all that waits, or `maxInstances` is reached. No more than
    /// `maxStarting` are on their start at a time: while they are, those that are ready may have done the work already.
    ///
    /// A worker that is draining counts towards `maxInstances`, for it still takes its memory, and not towards
    /// `minInstances`, for it takes no call.
    private mutating func startAsNeeded(now: NIODeadline) -> [Action] {
        guard !isStopping else { return [] }
        let starting = workers.count { $0.phase == .starting }
        let serving = workers.count { $0.phase != .draining }
        let forQueue = (queued + limits.concurrency - 1) / limits.concurrency - starting
        let wanted = max(forQueue, isDraining ? 0 : (probed ?? limits.minInstances) - serving)
        let count = min(wanted, limits.maxInstances - workers.count, limits.maxStarting - starting)
        guard count > 0 else { return [] }
        guard mayStartAt <= now else { return wake(at: mayStartAt) }
        return start(count, now: now)
    }

    private mutating func start(_ count: Int, now: NIODeadline) -> [Action] {
        (0..<count).map { _ in
            defer { nextID += 1 }
            workers.append(Worker(id: nextID, idleSince: now))
            return .start(nextID)
        }
    }
}
