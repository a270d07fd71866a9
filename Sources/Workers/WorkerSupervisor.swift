@preconcurrency import Dispatch
package import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Starts processes, detects their ends, and runs their timers, on a thread of its own.
///
/// The thread lives as long as the host. Workers ask the kernel to be killed when the thread that started them ends, so
/// a thread of a pool, which may end at any time, must not start them.
package final class WorkerSupervisor: WorkerProcesses {
    private let group: MultiThreadedEventLoopGroup
    package let eventLoop: any EventLoop
    private let childSignal: any DispatchSourceSignal
    /// Finishes once no more signals are handled.
    private let signals = AsyncStream.makeStream(of: Never.self)
    private let children: NIOLoopBoundBox<[Int32: SpawnedProcess]>
    private let watch: NIOLoopBoundBox<WorkerWatch>
    package let metrics = WorkerMetrics()
    private let adoptsOrphans: Bool
    /// Creates the workers' cgroups; nil if they have none.
    let cgroups: CgroupHome?

    /// - Parameter adoptsOrphans: whether this process becomes the parent of processes that workers leave behind, and
    ///   reaps them: in a container no other process does. Its other children must be started by ``ProcessSpawn``.
    package init(cgroups: CgroupHome? = nil, adoptsOrphans: Bool = false) {
        self.cgroups = cgroups
        self.adoptsOrphans = adoptsOrphans && Orphans.adopt()
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        eventLoop = group.next()
        children = .makeBoxSendingValue([:], eventLoop: eventLoop)
        watch = .makeBoxSendingValue(WorkerWatch(eventLoop: eventLoop, metrics: metrics), eventLoop: eventLoop)
        childSignal = DispatchSource.makeSignalSource(signal: SIGCHLD)
        childSignal.setEventHandler { [eventLoop, children, watch, adoptsOrphans = self.adoptsOrphans] in
            eventLoop.execute {
                Self.reap(children, watch)
                if adoptsOrphans { Orphans.reap() }
            }
        }
        childSignal.setCancelHandler { [signals] in signals.continuation.finish() }
        childSignal.activate()
    }

    package func start(_ worker: Worker) {
        eventLoop.execute { [self] in
            do { try SpawnedProcess.start(for: worker, by: self) } catch { worker.startFailed(error) }
        }
    }

    /// Call on the supervisor's thread, immediately after starting the process.
    func watch(_ process: SpawnedProcess, _ worker: Worker) {
        children.value[process.pid] = process
        watch.value.began(process.pid, worker)
        // The process may have ended before it was added here.
        eventLoop.execute { [children, watch] in Self.reap(children, watch) }
    }

    /// An idle worker has work again.
    func markActive(_ pid: Int32) { eventLoop.execute { [watch] in watch.value.markActive(pid) } }

    /// One signal may stand for several ends, so every child is checked.
    private static func reap(
        _ children: NIOLoopBoundBox<[Int32: SpawnedProcess]>, _ watch: NIOLoopBoundBox<WorkerWatch>
    ) {
        for (pid, process) in children.value where process.reap() {
            children.value[pid] = nil
            watch.value.ended(pid)
        }
    }

    package func shutdown() async {
        childSignal.cancel()
        // A signal that is being handled needs the thread.
        for await _ in signals.stream {}
        try? await group.shutdownGracefully()
        cgroups?.close()
    }
}
