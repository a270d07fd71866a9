import WorkerProtocol
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// One process of a release that runs one function, with a link to each gateway loop.
final class Worker: Sendable {
    private struct State {
        var pid: Int32?
        /// The host's own largest size when it started the process.
        var hostResidentKiB: Int64 = 0
        var readyLinks = 0
        var openLinks = 0
        /// Why the host ends the worker; nil while it doesn't.
        var reason: WorkerEnd?
        var status: ProcessStatus?
        var cgroup: WorkerCgroup?
        /// Whether its end was told: its process's and its last link's may come at once, on two threads.
        var isGone = false
        var onGone: [@Sendable (WorkerEnd, _ wasAlone: Bool) -> Void] = []
    }

    let id: WorkerPoolState.WorkerID
    let pool: WorkerPool
    let logger: Logger
    let supervisor: WorkerSupervisor
    private let state = Mutex(State())
    let lines = Mutex(LineBudget(now: .now()))
    /// Whether it is looked at closely, as one at work is: it needn't be said again then.
    private let isWatchedClosely = Atomic(true)
    let hasWarnedOfFiles = Atomic(false)
    let hasWarnedOfOutput = Atomic(false)
    /// By the index of their loop.
    ///
    /// `nonisolated(unsafe)`: set in `init` and never again.
    private(set) nonisolated(unsafe) var links: [WorkerLink] = []

    /// A worker that isn't ready by then won't be.
    private static let startTimeout = TimeAmount.seconds(10)
    /// How long a process may take to end once its links are closed.
    private static let endTimeout = TimeAmount.seconds(2)

    init(id: WorkerPoolState.WorkerID, pool: WorkerPool, supervisor: WorkerSupervisor, loops: [InvocationLoop]) {
        self.id = id
        self.pool = pool
        self.supervisor = supervisor
        var logger = pool.logger
        logger[metadataKey: "worker.id"] = "\(id)"
        self.logger = logger
        links = loops.map { WorkerLink(loop: $0, worker: self) }
    }

    var limits: WorkerLimits { pool.launch.limits }

    /// Starts the process. On the supervisor's thread.
    func start() {
        do {
            try launch()
        } catch {
            logger.error("the worker can't be started", metadata: ["error": "\(error)"])
            pool.workerGone(self, end: .crash(.neverStarted))
            return
        }
        supervisor.schedule(in: Self.startTimeout) { [weak self] in self?.killUnlessReady() }
    }

    private func launch() throws {
        var opened: [Int32] = []
        var pairs: [(Int32, Int32)] = []
        let output: (read: Int32, write: Int32)
        let error: (read: Int32, write: Int32)
        do {
            for _ in links {
                let pair = try DescriptorPair.socket()
                opened += [pair.0, pair.1]
                pairs.append(pair)
            }
            output = try DescriptorPair.pipe()
            opened += [output.read, output.write]
            error = try DescriptorPair.pipe()
        } catch {
            for descriptor in opened { DescriptorPair.close(descriptor) }
            throw error
        }
        var environment = pool.launch.environment
        environment[WorkerEnvironment.linkCountVariable] = "\(links.count)"
        let spawn = ProcessSpawn(
            executable: pool.launch.executable, arguments: ["worker", pool.name], environment: environment,
            standardOutput: output.write, standardError: error.write, links: pairs.map(\.1))
        let started = Result { () throws(ProcessSpawn.Failure) in try spawn.start() }
        for descriptor in pairs.map(\.1) + [output.write, error.write] { DescriptorPair.close(descriptor) }
        guard case .success(let pid) = started else {
            for descriptor in pairs.map(\.0) + [output.read, error.read] { DescriptorPair.close(descriptor) }
            return _ = try started.get()
        }
        state.withLock {
            $0.pid = pid
            $0.hostResidentKiB = ProcessFigures.ownMaxResidentKiB
            $0.openLinks = links.count
        }
        limit(pid)
        supervisor.metrics.began(pool.name, pid: pid)
        supervisor.watch(pid, self)
        capture(output.read, level: .info)
        capture(error.read, level: .warning)
        for (link, pair) in zip(links, pairs) { connect(link, pair.0) }
        logger.debug("a worker was started", metadata: ["worker.pid": "\(pid)"])
    }

    /// Holds the process to its limits, before it is given anything to do.
    private func limit(_ pid: Int32) {
        limits.apply(to: pid)
        guard let cgroups = supervisor.cgroups else { return }
        do throws(CgroupHome.Refusal) {
            let group = try cgroups.makeGroup("\(pool.name)-\(pid)", limits)
            state.withLock { $0.cgroup = group }
            try group.add(pid)
        } catch {
            // Its memory is looked at nevertheless.
            logger.warning("a worker has no cgroup of its own", metadata: ["reason": "\(error)"])
        }
    }

    private func connect(_ link: WorkerLink, _ descriptor: Int32) {
        ClientBootstrap(group: link.loop.eventLoop)
            .channelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 4096, initial: 16_384, maximum: 1_048_576)
            )
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(link) }
            }
            .withConnectedSocket(descriptor)
            .whenFailure { [self] error in
                logger.error("a worker's link can't be opened", metadata: ["error": "\(error)"])
                kill(.violation("its link can't be opened"))
                linkClosed()
            }
    }

    private func capture(_ descriptor: Int32, level: Logger.Level) {
        let output = NIOLoopBound(WorkerOutput(self, level: level), eventLoop: supervisor.eventLoop)
        NIOPipeBootstrap(group: supervisor.eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(output.value)
                }
            }
            .takingOwnershipOfDescriptor(input: descriptor)
            .whenFailure { [logger] error in
                logger.error("a worker's output can't be read", metadata: ["error": "\(error)"])
            }
    }

    private struct Executions {
        var running: [String] = []
        var last: String?
        /// How many ran when the first link closed.
        var lost: Int?
    }

    private let executions = Mutex(Executions())

    /// Whose the worker's output is: the one execution's it is at or, where it is at none, that of the last one, whose
    /// answer may overtake what it printed. Nil where it is at several.
    var soleExecution: String? {
        executions.withLock { $0.running.count > 1 ? nil : $0.running.first ?? $0.last }
    }

    var isBusy: Bool { executions.withLock { !$0.running.isEmpty } }

    /// - Returns: false where the process is lost, so that the execution won't be there.
    func began(_ execution: String) -> Bool {
        let isWhole = executions.withLock { executions in
            guard executions.lost == nil else { return false }
            executions.running.append(execution)
            return true
        }
        guard isWhole else { return false }
        guard !isWatchedClosely.load(ordering: .sequentiallyConsistent) else { return true }
        isWatchedClosely.store(true, ordering: .sequentiallyConsistent)
        if let pid = state.withLock({ $0.pid }) { supervisor.stirred(pid) }
        return true
    }

    /// It isn't looked at closely any more, as it has nothing to do.
    /// - Returns: whether that is still so: work may have come meanwhile.
    func rests() -> Bool {
        isWatchedClosely.store(false, ordering: .sequentiallyConsistent)
        guard isBusy else { return true }
        isWatchedClosely.store(true, ordering: .sequentiallyConsistent)
        return false
    }

    /// An invocation was taken back before its handler began.
    func gaveBack(_ execution: String) {
        executions.withLock { executions in
            if let index = executions.running.firstIndex(of: execution) { executions.running.remove(at: index) }
        }
    }

    func ended(_ execution: String) {
        executions.withLock { executions in
            guard let index = executions.running.firstIndex(of: execution) else { return }
            executions.running.remove(at: index)
            executions.last = execution
        }
    }

    /// Why the host ends the worker; nil while it doesn't.
    var reason: WorkerEnd? { state.withLock { $0.reason } }

    /// Something blocks it: what it has been given and hasn't begun is taken back.
    func recallAll() {
        for link in links { link.loop.eventLoop.execute { link.recallAll() } }
    }

    /// One of the links is closed, and what ran is lost.
    func broke() {
        // The pool first: else it might give the worker what the worker then refuses.
        pool.workerBroke(self)
        executions.withLock { if $0.lost == nil { $0.lost = $0.running.count } }
    }

    // MARK: Ends

    /// Closes the links: the worker has nothing left to do, and ends by that or is killed.
    func end(_ reason: WorkerEnd) {
        setReason(reason)
        for link in links { link.loop.eventLoop.execute { link.close() } }
        supervisor.schedule(in: Self.endTimeout) { [weak self] in self?.kill(reason) }
    }

    /// Kills the process and all it has started.
    func kill(_ reason: WorkerEnd) {
        setReason(reason)
        // Under the lock: once the process is reaped its number may name another one.
        state.withLock { state in
            if let pid = state.pid, state.status == nil { ProcessSpawn.killGroup(pid) }
        }
    }

    private func killUnlessReady() {
        if state.withLock({ $0.readyLinks < links.count && $0.status == nil }) { kill(.slowStart) }
    }

    private func setReason(_ reason: WorkerEnd) {
        state.withLock { if $0.reason == nil { $0.reason = reason } }
    }

    func linkBecameReady() {
        let isReady = state.withLock { state in
            state.readyLinks += 1
            return state.readyLinks == links.count
        }
        if isReady { pool.workerBecameReady(self) }
    }

    /// A worker without one of its links is of no use.
    func linkClosed() {
        let isLast = state.withLock { state in
            state.openLinks -= 1
            return state.openLinks == 0
        }
        // First, for once it is gone the supervisor may end with the host.
        supervisor.schedule(in: Self.endTimeout) { [weak self] in self?.kill(.violation("it closed its link")) }
        if isLast { goneIfOver() } else { for link in links { link.loop.eventLoop.execute { link.close() } } }
    }

    /// Reaps the process if it has ended. On the supervisor's thread.
    /// - Returns: whether it has.
    func reap() -> Bool {
        let status: ProcessStatus? = state.withLock { state in
            guard let pid = state.pid, state.status == nil else { return nil }
            guard let status = ProcessStatus.reap(pid) else { return nil }
            state.status = status
            return status
        }
        guard status != nil else { return false }
        if let group = state.withLock({ $0.cgroup }) {
            if let end = group.end { setReason(end) }
            group.kill()
            remove(group)
        }
        // Its end of the links is closed; ours closes after what it sent has been read.
        supervisor.schedule(in: .milliseconds(100)) { [weak self] in
            for link in self?.links ?? [] { link.loop.eventLoop.execute { link.close() } }
        }
        goneIfOver()
        return true
    }

    private func remove(_ group: WorkerCgroup, tries: Int = 20) {
        guard !group.remove(), tries > 0 else { return }
        supervisor.schedule(in: .milliseconds(100)) { [self] in remove(group, tries: tries - 1) }
    }

    /// - Parameter action: called once the process has ended and its links are closed, one of which is still open; with
    ///   whether it ran one invocation only.
    func whenGone(_ action: @escaping @Sendable (WorkerEnd, _ wasAlone: Bool) -> Void) {
        state.withLock { $0.onGone.append(action) }
    }

    private func goneIfOver() {
        typealias Over = (
            pid: Int32, reason: WorkerEnd, status: ProcessStatus, onGone: [@Sendable (WorkerEnd, Bool) -> Void]
        )
        let over: Over? = state.withLock { state in
            guard let pid = state.pid, let status = state.status, state.openLinks == 0, !state.isGone else {
                return nil
            }
            state.isGone = true
            defer { state.onGone = [] }
            let reason =
                state.reason ?? .byItself(status, limits: limits, hostResidentKiB: state.hostResidentKiB)
            return (pid, reason, status, state.onGone)
        }
        guard let over else { return }
        // First, so that whoever reads of it in the log finds it counted.
        supervisor.metrics.ended(pool.name, pid: over.pid, over.reason)
        let message: Logger.Message =
            switch over.reason {
            case .memory: "the worker was killed: the function used more memory than it may"
            case .processes: "the worker was killed: the function started more processes than it may"
            default: "a worker has ended"
            }
        logger.log(
            level: over.reason.isCrash ? .error : .debug, message,
            metadata: [
                "worker.end": "\(over.reason)", "worker.cpu": "\(over.status.cpuMicroseconds) µs",
                "worker.maxResident": "\(over.status.maxResidentKiB) KiB",
            ])
        let wasAlone = executions.withLock { ($0.lost ?? 0) <= 1 }
        for action in over.onGone { action(over.reason, wasAlone) }
        pool.workerGone(self, end: over.reason)
    }
}

extension ProcessStatus {
    static let neverStarted = ProcessStatus(outcome: .exited(-1), cpuMicroseconds: 0, maxResidentKiB: 0)
}
