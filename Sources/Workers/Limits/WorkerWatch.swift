import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Samples what workers use and kills those that exceed their limits: performs what ``WorkerWatchState`` decides. Lives
/// on the supervisor's thread.
final class WorkerWatch {
    private let eventLoop: any EventLoop
    private let metrics: WorkerMetrics
    private var state = WorkerWatchState()
    private var tree = ProcessTree()
    private var workers: [Int32: Worker] = [:]
    private var wake: (at: NIODeadline, task: Scheduled<Void>)?
    private var lastScan: NIODeadline?

    /// The interval at which new processes are looked for, which examines all processes of the system.
    private static let scanInterval = TimeAmount.milliseconds(100)
    private static let idleScanInterval = TimeAmount.seconds(1)

    init(eventLoop: any EventLoop, metrics: WorkerMetrics) {
        self.eventLoop = eventLoop
        self.metrics = metrics
    }

    func began(_ pid: Int32, _ worker: Worker) {
        #if os(Linux)
            workers[pid] = worker
            let limits = worker.limits
            state.began(pid, limits: .init(memory: limits.memory, processes: limits.processes), now: .now())
            wakeInTime()
        #endif
    }

    func markActive(_ pid: Int32) {
        state.markActive(pid, now: .now())
        wakeInTime()
    }

    /// The worker's process has ended, and the processes that it started are killed. Plans no further sample, as the
    /// host may be stopping.
    func ended(_ pid: Int32) {
        guard workers.removeValue(forKey: pid) != nil else { return }
        state.ended(pid)
        for left in tree.remove(pid) { kill(left, SIGKILL) }
    }

    private func wakeInTime() {
        guard let time = state.nextLook else { return }
        if let wake, wake.at <= time { return }
        wake?.task.cancel()
        let this = NIOLoopBound(self, eventLoop: eventLoop)
        wake = (time, eventLoop.scheduleTask(deadline: time) { this.value.look() })
    }

    private func look() {
        wake = nil
        let now = NIODeadline.now()
        let interval = state.areAllIdle ? Self.idleScanInterval : Self.scanInterval
        if lastScan.map({ $0 + interval <= now }) ?? true {
            lastScan = now
            tree.refresh(workers: Set(workers.keys))
        }
        for pid in state.due(now: now) {
            guard let worker = workers[pid] else { continue }
            look(at: worker, pid, now: now)
        }
        wakeInTime()
    }

    private func look(at worker: Worker, _ pid: Int32, now: NIODeadline) {
        let processes = [pid] + tree.children(of: pid)
        let memory = processes.reduce(0) { $0 + (ProcessFigures.memory($1) ?? 0) }
        metrics.uses(worker.function, pid: pid, memory: memory)
        if !state.isIdle(pid), let files = ProcessFigures.openFiles(pid) { worker.hasOpen(files) }
        let sight = WorkerWatchState.Sight(memory: memory, processes: processes.count, isBusy: worker.isBusy)
        var verdict = state.saw(pid, sight, now: now)
        if verdict == .measure {
            let began = NIODeadline.now()
            let exact = processes.reduce(0) { $0 + (ProcessFigures.proportionalMemory($1) ?? 0) }
            verdict = state.measured(pid, memory: exact, took: NIODeadline.now() - began, now: now)
        }
        switch verdict {
        case .fine(let isIdle): if isIdle, !worker.markIdle() { state.markActive(pid, now: now) }
        case .measure: break
        case .kill(let end):
            worker.kill(end)
            // Those that have left its group.
            for child in processes.dropFirst() { kill(child, SIGKILL) }
        }
    }
}
