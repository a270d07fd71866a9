package import FunctionManifest
import WorkerProtocol
import Logging
import NIOCore
import Synchronization

/// The workers of one function: performs what ``WorkerPoolState`` decides.
package final class WorkerPool: Sendable {
    private struct State {
        var machine: WorkerPoolState
        var workers: [WorkerPoolState.WorkerID: Worker] = [:]
        var onEmpty: [@Sendable () -> Void] = []
        /// Callers of ``probe(_:)`` that wait for workers to be ready.
        var probes: [CheckedContinuation<WorkerEnd?, Never>] = []
    }

    package let name: String
    /// The path of the program that its workers run.
    package var executable: String { launch.executable }
    let launch: WorkerLaunch
    package let services: InvocationServices
    let logger: Logger
    /// What its workers' frames that aren't whole hold.
    let frameBytes: OperationBytes.Account
    private let processes: any WorkerProcesses
    private let loops: [InvocationLoop]
    private let state: Mutex<State>

    package init(
        name: String, limits: WorkerPoolState.Limits, launch: WorkerLaunch, services: InvocationServices,
        processes: any WorkerProcesses, loops: [InvocationLoop]
    ) {
        self.name = name
        self.launch = launch
        self.services = services
        frameBytes = services.frameBytes.account()
        self.processes = processes
        self.loops = loops
        logger = Logger(label: name)
        state = Mutex(State(machine: WorkerPoolState(limits: limits)))
    }

    /// Starts the workers that are kept warm.
    package func begin() { perform(on: nil) { $0.began(now: $1) } }

    // MARK: From invocations

    /// Runs the invocation at once, queues it, or refuses it.
    func submit(_ invocation: Invocation, on loop: InvocationLoop) {
        let ticket = self.ticket(of: invocation, on: loop)
        perform(on: loop) { $0.arrived(ticket, of: invocation.caller, now: $1) }
    }

    /// A queued invocation isn't wanted any more.
    func withdraw(_ invocation: Invocation, on loop: InvocationLoop) {
        let ticket = self.ticket(of: invocation, on: loop)
        let caller = invocation.caller
        state.withLock { _ = $0.machine.withdrew(ticket, of: caller) }
    }

    func ended(in worker: WorkerPoolState.WorkerID, wasAbandoned: Bool, on loop: InvocationLoop) {
        perform(on: loop) { $0.ended(in: worker, wasAbandoned: wasAbandoned, now: $1) }
    }

    func abandoned(in worker: WorkerPoolState.WorkerID, on loop: InvocationLoop) {
        perform(on: loop) { $0.abandoned(in: worker, now: $1) }
    }

    /// A worker returned an invocation, or was lost before it had it.
    /// - Parameter invocation: nil if its client no longer waits.
    func recalled(
        _ invocation: Invocation?, from worker: WorkerPoolState.WorkerID, wasAbandoned: Bool, on loop: InvocationLoop
    ) {
        let ticket = invocation.map { self.ticket(of: $0, on: loop) }
        perform(on: loop) { $0.recalled(ticket, from: worker, wasAbandoned: wasAbandoned, now: $1) }
    }

    private func ticket(of invocation: Invocation, on loop: InvocationLoop) -> WorkerPoolState.Ticket {
        WorkerPoolState.Ticket(invocation: invocation.id, loop: loop.index)
    }

    // MARK: From workers

    func workerBecameReady(_ worker: Worker) {
        perform(on: nil) { $0.workerBecameReady(worker.id, now: $1) }
        if isProbed { answerProbes(nil) }
    }

    /// Called before the link counts as closed, so that nothing is dispatched to it afterwards.
    ///
    /// - Parameter isCrash: whether the host doesn't end the worker.
    func workerBroke(_ worker: Worker, isCrash: Bool) {
        let now = processes.eventLoop.now
        state.withLock { $0.machine.workerBroke(worker.id, isCrash: isCrash, now: now) }
    }

    func workerGone(_ worker: Worker, end: WorkerEnd) {
        let onEmpty = state.withLock { state in
            state.workers[worker.id] = nil
            guard state.workers.isEmpty else { return [@Sendable () -> Void]() }
            defer { state.onEmpty = [] }
            return state.onEmpty
        }
        perform(on: nil) { $0.workerEnded(worker.id, crashed: end.isCrash, now: $1) }
        // The end of an idle worker doesn't show whether others start.
        if end.isCrash || hasStopped { answerProbes(end) }
        for action in onEmpty { action() }
    }

    /// Starts workers to check that the release can be served before it is; they are kept like any others.
    ///
    /// - Parameter count: the number of workers that must become ready.
    /// - Returns: how a worker ended instead of becoming ready; nil if all are ready.
    package func probe(_ count: Int) async -> WorkerEnd? {
        await withCheckedContinuation { continuation in
            state.withLock { $0.probes.append(continuation) }
            perform(on: nil) { $0.probe(count, now: $1) }
            if hasStopped { answerProbes(.shutdown) } else if isProbed { answerProbes(nil) }
        }
    }

    private var isProbed: Bool { state.withLock { $0.machine.isProbed } }

    /// The number of workers that accept calls.
    package var readyWorkers: Int { state.withLock { $0.machine.readyWorkers } }

    /// Ends idle workers that needn't be kept warm.
    package func retireIdleWorkers() { perform(on: nil) { machine, _ in machine.retireIdleWorkers() } }

    private func answerProbes(_ end: WorkerEnd?) {
        let probes = state.withLock { state in
            defer { state.probes = [] }
            return state.probes
        }
        for probe in probes { probe.resume(returning: end) }
    }

    /// Whether no process exists and no invocation waits for one.
    package var isEmpty: Bool { state.withLock { $0.workers.isEmpty && $0.machine.queued == 0 } }

    /// Another release has taken over, and gets the deliveries that no worker has begun. Workers end as soon as the
    /// invocations that were routed to them have ended.
    package func drain() { perform(on: nil) { machine, _ in machine.drain() } }

    /// Accepts no more work. Workers end as soon as they are idle.
    package func stop() {
        perform(on: nil) { machine, _ in machine.stop() }
        if hasStopped { answerProbes(.shutdown) }
    }

    /// Whether no process is left and none will be started.
    private var hasStopped: Bool { state.withLock { $0.machine.isStopping && $0.workers.isEmpty } }

    /// Kills the remaining workers, and returns when no process is left.
    package func kill() async {
        await withCheckedContinuation { continuation in
            let workers: [Worker]? = state.withLock { state in
                guard !state.workers.isEmpty else { return nil }
                state.onEmpty.append { continuation.resume() }
                return Array(state.workers.values)
            }
            guard let workers else { return continuation.resume() }
            for worker in workers { worker.kill(.shutdown) }
        }
    }

    /// Passes an input to the state machine under the lock, and performs its actions outside of it.
    /// - Parameter loop: the gateway loop of the current thread; nil on another thread.
    private func perform(
        on loop: InvocationLoop?, _ input: (inout WorkerPoolState, NIODeadline) -> [WorkerPoolState.Action]
    ) {
        let now = processes.eventLoop.now
        typealias Step = (action: WorkerPoolState.Action, worker: Worker?)
        let (steps, isDraining): ([Step], Bool) = state.withLock { state in
            let steps: [Step] = input(&state.machine, now).map { action in
                switch action {
                case .start(let id):
                    let worker = Worker(id: id, pool: self, processes: processes, loops: loops)
                    state.workers[id] = worker
                    return (action, worker)
                case .dispatch(_, let id), .end(let id), .kill(let id), .recall(let id):
                    return (action, state.workers[id])
                case .refuse, .fail, .returnDelivery, .wake:
                    return (action, nil)
                }
            }
            return (steps, state.machine.isDraining)
        }
        for step in steps {
            switch step.action {
            case .start:
                if let worker = step.worker { processes.start(worker) }
            case .dispatch(let ticket, _):
                guard let worker = step.worker else { continue }
                at(ticket, from: loop) { [self] loop in
                    // If it was withdrawn after the decision, its place is free.
                    guard let invocation = loop[ticket.invocation], invocation.isQueued else {
                        return ended(in: worker.id, wasAbandoned: false, on: loop)
                    }
                    invocation.start(in: worker)
                }
            case .refuse(let ticket):
                let failure = services.isStopping ? InvocationFailure.stopping : .queueFull
                at(ticket, from: loop) { $0[ticket.invocation]?.refuse(failure) }
            case .fail(let ticket):
                at(ticket, from: loop) { $0[ticket.invocation]?.refuse(.internal) }
            case .returnDelivery(let ticket):
                at(ticket, from: loop) { $0[ticket.invocation]?.refuse(.displaced) }
            case .end:
                step.worker?.end(services.isStopping ? .shutdown : isDraining ? .release : .idle)
            case .kill:
                step.worker?.kill(.overdue)
            case .recall:
                step.worker?.recallAll()
            case .wake(let time):
                processes.eventLoop.scheduleTask(in: max(time - now, .zero)) { [weak self] in
                    self?.perform(on: nil) { $0.tick(now: $1) }
                }
            }
        }
    }

    private func at(
        _ ticket: WorkerPoolState.Ticket, from loop: InvocationLoop?,
        _ action: @escaping @Sendable (InvocationLoop) -> Void
    ) {
        let target = loops[ticket.loop]
        if target === loop { action(target) } else { target.eventLoop.execute { action(target) } }
    }
}

/// Starts workers of a release.
package struct WorkerLaunch: Sendable {
    var executable: String
    var environment: [String: String]
    /// Sent over the link, because other processes can read a process's environment.
    var params: ParamValues
    let secretFilter: SecretFilter
    /// The lowest level of what the function logs.
    let logLevel: Logger.Level
    var limits: WorkerLimits

    package init(executable: String, environment: [String: String], params: ParamValues, limits: WorkerLimits) {
        self.executable = executable
        self.environment = environment
        self.params = params
        secretFilter = SecretFilter(params)
        logLevel = environment[WorkerEnvironment.logLevelVariable].flatMap { Logger.Level(rawValue: $0) } ?? .info
        self.limits = limits
    }
}
