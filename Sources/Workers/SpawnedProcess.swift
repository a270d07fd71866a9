import CFunctionsSystem
import WorkerProtocol
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// A worker's process as the operating system runs it.
final class SpawnedProcess: WorkerProcess {
    private struct State {
        var hasEnded = false
        var cgroup: WorkerCgroup?
    }

    let pid: Int32
    private let worker: Worker
    private let supervisor: WorkerSupervisor
    /// The host's own largest resident size when it started the process.
    private let hostResidentKiB: Int64
    private let state = Mutex(State())

    /// Starts the process, connects its links and captures its output. Call on the supervisor's thread.
    static func start(for worker: Worker, by supervisor: WorkerSupervisor) throws {
        var opened: [Int32] = []
        var pairs: [(Int32, Int32)] = []
        let output: (read: Int32, write: Int32)
        let error: (read: Int32, write: Int32)
        do {
            for _ in worker.links {
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
        var environment = worker.launch.environment
        environment[WorkerEnvironment.linkCountVariable] = "\(worker.links.count)"
        environment[BacktraceSettings.variable] = BacktraceSettings.merged(
            with: environment[BacktraceSettings.variable])
        let spawn = ProcessSpawn(
            executable: worker.launch.executable, arguments: ["worker", worker.function], environment: environment,
            standardOutput: output.write, standardError: error.write, links: pairs.map(\.1))
        let started = Result { () throws(ProcessSpawn.Failure) in try spawn.start() }
        for descriptor in pairs.map(\.1) + [output.write, error.write] { DescriptorPair.close(descriptor) }
        guard case .success(let pid) = started else {
            for descriptor in pairs.map(\.0) + [output.read, error.read] { DescriptorPair.close(descriptor) }
            return _ = try started.get()
        }
        let process = SpawnedProcess(pid, worker, supervisor)
        worker.started(process)
        process.limit()
        supervisor.metrics.began(worker.function, pid: pid)
        supervisor.watch(process, worker)
        process.capture(output.read, isErrors: false)
        worker.expectErrors()
        process.capture(error.read, isErrors: true)
        for (link, pair) in zip(worker.links, pairs) { process.connect(link, pair.0) }
        worker.logger.debug("a worker was started", metadata: ["worker.pid": "\(pid)"])
    }

    private init(_ pid: Int32, _ worker: Worker, _ supervisor: WorkerSupervisor) {
        self.pid = pid
        self.worker = worker
        self.supervisor = supervisor
        hostResidentKiB = ProcessFigures.ownMaxResidentKiB
    }

    /// Applies the worker's limits to the process, before it gets any work.
    private func limit() {
        worker.limits.apply(to: pid)
        guard let cgroups = supervisor.cgroups else { return }
        do throws(CgroupHome.Refusal) {
            let group = try cgroups.makeGroup("\(worker.function)-\(pid)", worker.limits)
            state.withLock { $0.cgroup = group }
            try group.add(pid)
        } catch {
            // The watch still checks its memory.
            worker.logger.warning("a worker has no cgroup of its own", metadata: ["reason": "\(error)"])
        }
    }

    private func connect(_ link: WorkerLink, _ descriptor: Int32) {
        ClientBootstrap(group: link.eventLoop)
            .channelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 4096, initial: 16_384, maximum: 1_048_576)
            )
            // A paused link has read no more than that.
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(link) }
            }
            .withConnectedSocket(descriptor)
            .whenFailure { [worker] error in
                worker.logger.error("a worker's link can't be opened", metadata: ["error": "\(error)"])
                worker.kill(.violation("its link can't be opened"))
                worker.linkClosed()
            }
    }

    private func capture(_ descriptor: Int32, isErrors: Bool) {
        let output = NIOLoopBound(WorkerOutput(worker, isErrors: isErrors), eventLoop: supervisor.eventLoop)
        NIOPipeBootstrap(group: supervisor.eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(output.value)
                }
            }
            .takingOwnershipOfDescriptor(input: descriptor)
            .whenFailure { [worker] error in
                if isErrors { worker.errorsEnded() }
                worker.logger.error("a worker's output can't be read", metadata: ["error": "\(error)"])
            }
    }

    // MARK: WorkerProcess

    func kill() {
        // Under the lock: once the process is reaped, its id may belong to another one.
        state.withLock { if !$0.hasEnded { ProcessSpawn.killGroup(pid) } }
    }

    func markActive() { supervisor.markActive(pid) }

    func workerEnded(_ end: WorkerEnd) { supervisor.metrics.ended(worker.function, pid: pid, end) }

    // MARK: Its end

    /// Reaps the process if it has ended. Call on the supervisor's thread.
    /// - Returns: whether it has.
    func reap() -> Bool {
        let ended: (status: ProcessStatus, cgroup: WorkerCgroup?)? = state.withLock { state in
            guard !state.hasEnded, let status = ProcessStatus.reap(pid) else { return nil }
            state.hasEnded = true
            return (status, state.cgroup)
        }
        guard let (status, cgroup) = ended else { return false }
        var reason = cgroup?.end
        if let cgroup {
            cgroup.kill()
            remove(cgroup)
        }
        if reason == nil { reason = .memory(of: status, limits: worker.limits, hostResidentKiB: hostResidentKiB) }
        worker.processEnded(status, killedFor: reason)
        return true
    }

    private func remove(_ group: WorkerCgroup, attempts: Int = 20) {
        guard !group.remove(), attempts > 0 else { return }
        supervisor.eventLoop.scheduleTask(in: .milliseconds(100)) { [self] in remove(group, attempts: attempts - 1) }
    }
}
