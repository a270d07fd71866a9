import DequeModule
package import NIOCore
import Sharing

/// Which worker of a function runs which invocation, as a pure state machine: events in, actions out.
///
/// The states of a worker: starting → ready ⇄ blocked → draining → gone; it may go from any of them. An invocation is
/// queued, then runs in one worker until it ends, or until a worker that hasn't begun it returns it.
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
        /// Another release has taken over, and can run the delivery: no worker has begun it.
        case returnDelivery(Ticket)
        /// Close the worker's links: nothing runs in it, so it exits.
        case end(WorkerID)
        /// Kill the worker: everything that still runs in it was abandoned.
        case kill(WorkerID)
        /// Recall from the worker the invocations that its blocked threads can't begin: see
        /// ``recalled(_:from:wasAbandoned:now:)``.
        case recall(WorkerID)
        /// Call ``tick(now:)`` at this time.
        case wake(at: NIODeadline)
    }

    package struct Limits: Equatable, Sendable {
        var concurrency: Int
        var minInstances: Int
        var maxInstances: Int
        var queue: Int
        /// How many workers may be starting at the same time: more would only slow each other down.
        var maxStarting: Int
        /// Whether the invocations are attempts at deliveries and not requests, whose callers wait for an answer.
        var runsDeliveries: Bool
        /// How long an idle worker is kept.
        var keepAlive: TimeAmount

        package init(
            concurrency: Int, minInstances: Int, maxInstances: Int, queue: Int, maxStarting: Int,
            runsDeliveries: Bool = false, keepAlive: TimeAmount = .minutes(5)
        ) {
            self.concurrency = concurrency
            self.minInstances = minInstances
            self.maxInstances = maxInstances
            self.queue = queue
            self.maxStarting = max(1, maxStarting)
            self.runsDeliveries = runsDeliveries
            self.keepAlive = keepAlive
        }
    }

    private struct Worker: Equatable {
        enum Phase: Equatable {
            case starting, ready
            /// Ready, but its threads are blocked.
            case blocked
            case draining
        }

        let id: WorkerID
        var phase = Phase.starting
        var running = 0
        /// The number of running invocations that were abandoned: answered, cancelled, and still not stopped.
        var abandoned = 0
        var idleSince: NIODeadline
        /// Whether one of its links is closed, so that its process ends by itself.
        var isBroken = false
        /// Whether its crash is counted already.
        var hasCrashed = false
    }

    private let limits: Limits
    private var workers: [Worker] = []
    private var queue: FairQueue<Caller, Ticket>
    /// Recalled invocations. They are dispatched before the queue and don't count against its limit, because they were
    /// admitted already.
    private var returned: Deque<Ticket> = []
    private var nextID: WorkerID = 1
    private(set) var isStopping = false
    /// Whether another release has taken over. Requests that were routed here still run, and no worker is kept warm.
    private(set) var isDraining = false
    /// The number of workers that must be ready before anything is routed here; nil once the pool has begun.
    private var probed: Int?
    /// Crashes since a worker last completed an invocation. Each makes the pause before the next start longer.
    private var crashes = 0
    private var mayStartAt = NIODeadline.distantPast
    /// The earliest pending ``tick(now:)``.
    private var nextWake: NIODeadline?

    init(limits: Limits) {
        self.limits = limits
        queue = FairQueue(places: limits.queue)
    }

    var queued: Int { queue.count + returned.count }
    var instances: Int { workers.count }
    /// The number of workers that accept calls, or will again once their threads are free.
    var readyWorkers: Int { workers.count { $0.phase == .ready || $0.phase == .blocked } }
    /// Whether as many workers are ready as a probe requires.
    var isProbed: Bool { readyWorkers >= probed ?? 0 }

    /// The pool begins: workers that are kept warm are started.
    mutating func began(now: NIODeadline) -> [Action] {
        probed = nil
        return startAsNeeded(now: now)
    }

    /// - Parameter caller: the caller, evaluated only if the ticket must wait; nil for the host itself.
    mutating func arrived(_ ticket: Ticket, of caller: @autoclosure () -> Caller? = nil, now: NIODeadline) -> [Action] {
        if isStopping { return [.refuse(ticket)] }
        if returnsDeliveries { return [.returnDelivery(ticket)] }
        if queued == 0, let index = freeWorker() {
            workers[index].running += 1
            return [.dispatch(ticket, to: workers[index].id)]
        }
        guard queue.append(ticket, of: caller()) else { return [.refuse(ticket)] }
        return startAsNeeded(now: now)
    }

    /// A queued invocation's caller has left or its deadline has passed.
    /// - Returns: whether it was queued.
    mutating func withdrew(_ ticket: Ticket, of caller: Caller? = nil) -> Bool {
        if let index = returned.firstIndex(of: ticket) {
            returned.remove(at: index)
            return true
        }
        return queue.remove(ticket, of: caller)
    }

    mutating func workerBecameReady(_ id: WorkerID, now: NIODeadline) -> [Action] {
        guard let index = index(id), workers[index].phase == .starting, !workers[index].isBroken else { return [] }
        workers[index].phase = .ready
        workers[index].idleSince = now
        if isStopping { return retire(index) }
        var actions = dispatchQueued(to: index)
        if isDraining {
            actions += retireIfIdle(index)
        } else {
            // With one more worker, others that have long been idle may be surplus.
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

    /// An invocation doesn't stop, though it was cancelled and its grace period is over. Its worker gets no more work,
    /// and is killed as soon as nothing else runs in it.
    mutating func abandoned(in id: WorkerID, now: NIODeadline) -> [Action] {
        guard let index = index(id) else { return [] }
        workers[index].abandoned += 1
        let actions = retire(index)
        return (actions.isEmpty ? [.recall(id)] : actions) + startAsNeeded(now: now)
    }

    /// A worker returned an invocation whose handler it hasn't begun, because its threads are blocked. The invocation
    /// is the first to run elsewhere. The worker returns its other waiting invocations too, and gets no more work until
    /// one of its invocations ends.
    /// - Parameters:
    ///   - ticket: nil if its client no longer waits.
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
                // No invocation blocks the worker any more, so none will end and report that it is free.
                actions += retire(index)
            }
        }
        guard let ticket else { return actions + startAsNeeded(now: now) }
        if isStopping { return actions + [.refuse(ticket)] }
        if returnsDeliveries { return actions + [.returnDelivery(ticket)] }
        if let free = freeWorker() {
            workers[free].running += 1
            return actions + [.dispatch(ticket, to: workers[free].id)]
        }
        returned.prepend(ticket)
        return actions + startAsNeeded(now: now)
    }

    /// One of the worker's links is closed, so its process has ended or soon will: it gets no more work. Its
    /// invocations are lost, and end with ``workerEnded(_:crashed:now:)``.
    ///
    /// - Parameter isCrash: whether the host doesn't end the worker. A crash counts from here: its process may take long
    ///   to end.
    mutating func workerBroke(_ id: WorkerID, isCrash: Bool, now: NIODeadline) {
        guard let index = index(id) else { return }
        workers[index].isBroken = true
        if [.ready, .blocked].contains(workers[index].phase) { workers[index].phase = .draining }
        if isCrash, !workers[index].hasCrashed, workers[index].phase != .starting {
            workers[index].hasCrashed = true
            countCrash(hadStarted: true, now)
        }
    }

    private mutating func countCrash(hadStarted: Bool, _ now: NIODeadline) {
        crashes += 1
        mayStartAt = now + Self.pause(afterCrashes: crashes, hadStarted: hadStarted)
    }

    /// A worker's process has ended.
    /// - Parameter crashed: whether it ended by itself, not at the host's request.
    mutating func workerEnded(_ id: WorkerID, crashed: Bool, now: NIODeadline) -> [Action] {
        guard let index = index(id) else { return [] }
        let worker = workers.remove(at: index)
        guard crashed else { return startAsNeeded(now: now) }
        // The probe has its result.
        if probed != nil { probed = 0 }
        if !worker.hasCrashed { countCrash(hadStarted: worker.phase != .starting, now) }
        var actions: [Action] = []
        if worker.phase == .starting && workers.isEmpty && crashes >= Self.startsTried {
            // Nothing indicates that the next start would succeed; callers get an answer instead of waiting.
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

    /// Accepts no more work. Every worker ends once it is idle, and queued tickets are refused.
    mutating func stop() -> [Action] {
        isStopping = true
        let refused = removeQueued().map { Action.refuse($0) }
        return refused + workers.indices.flatMap { retire($0) }
    }

    /// Another release has taken over. Requests that were routed here before it are still run, and so is what a worker
    /// has begun.
    mutating func drain() -> [Action] {
        isDraining = true
        let waiting = returnsDeliveries ? removeQueued().map { Action.returnDelivery($0) } : []
        return waiting + workers.indices.flatMap { retireIfIdle($0) }
    }

    /// Whether what no worker has begun is left to the other release.
    private var returnsDeliveries: Bool { isDraining && limits.runsDeliveries }

    /// Ends idle workers that needn't be kept warm.
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

    /// Starts workers before anything is routed here, until the given number is ready: to check that they start, and to
    /// take over from that number of workers.
    mutating func probe(_ count: Int, now: NIODeadline) -> [Action] {
        probed = min(count, limits.maxInstances)
        return startAsNeeded(now: now)
    }

    // MARK: Parts

    static let startsTried = 3

    /// No pause after the first crash, then 100 ms, doubled with each crash up to 10 s.
    ///
    /// - Parameter hadStarted: whether the worker that crashed last had started: then an invocation may have ended it, and
    ///   others wait for at most a second. A caller can make handlers trap for as long as it likes.
    static func pause(afterCrashes crashes: Int, hadStarted: Bool) -> TimeAmount {
        crashes <= 1 ? .zero : .milliseconds(min(100 << Int64(min(crashes - 2, 10)), hadStarted ? 1000 : 10_000))
    }

    private func index(_ id: WorkerID) -> Int? { workers.firstIndex { $0.id == id } }

    /// The fullest worker that has room, so that others may become idle and be retired.
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
        // One that crashes may have its last results read only then, and still ends as a crash.
        if worker.running == 0 { return worker.isBroken && !isStopping ? [] : [.end(worker.id)] }
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

    /// Asks for a tick, unless an earlier one is pending: a busy function becomes idle thousands of times a second.
    private mutating func wake(at time: NIODeadline) -> [Action] {
        if let nextWake, nextWake <= time { return [] }
        nextWake = time
        return [.wake(at: time)]
    }

    /// Starts workers until the starting ones have room for everything that waits, or `maxInstances` is reached. At
    /// most `maxStarting` workers start at the same time: meanwhile the ready ones may finish the work.
    ///
    /// A draining worker counts towards `maxInstances`, because it still uses memory, but not towards `minInstances`,
    /// because it accepts no calls.
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
