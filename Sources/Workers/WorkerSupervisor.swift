@preconcurrency import Dispatch
import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Starts processes, learns of their ends, and keeps their timers, on a thread of its own.
///
/// The thread lives as long as the host: workers ask the kernel to be killed when the thread that started them ends,
/// so a thread from a pool, which may go at any time, must not start them.
package final class WorkerSupervisor: Sendable {
    private let group: MultiThreadedEventLoopGroup
    let eventLoop: any EventLoop
    private let childSignal: any DispatchSourceSignal
    /// Ends once no signal is told any more.
    private let signals = AsyncStream.makeStream(of: Never.self)
    private let children: NIOLoopBoundBox<[Int32: Worker]>
    private let watch: NIOLoopBoundBox<WorkerWatch>
    package let metrics = WorkerMetrics()
    private let adoptsOrphans: Bool
    /// Where workers get groups of their own; nil where they don't.
    let cgroups: CgroupHome?

    /// - Parameter adoptsOrphans: whether this process is the parent of what workers leave behind, and reaps it: in a
    ///   container nobody else does. Then every child of the process must be a worker.
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
                if adoptsOrphans { Orphans.reap(sparing: { children.value[$0] != nil }) }
            }
        }
        childSignal.setCancelHandler { [signals] in signals.continuation.finish() }
        childSignal.activate()
    }

    /// Runs a worker's start on the supervisor's thread.
    func start(_ worker: Worker) { eventLoop.execute { worker.start() } }

    func schedule(in time: TimeAmount, _ action: @escaping @Sendable () -> Void) {
        eventLoop.scheduleTask(in: time, action)
    }

    /// On the supervisor's thread, right after the process was started.
    func watch(_ pid: Int32, _ worker: Worker) {
        children.value[pid] = worker
        watch.value.began(pid, worker)
        // It may have ended before it was known here.
        eventLoop.execute { [children, watch] in Self.reap(children, watch) }
    }

    /// A worker that rested has got something to do.
    func stirred(_ pid: Int32) { eventLoop.execute { [watch] in watch.value.stirred(pid) } }

    /// One signal may stand for many ends, so every child is asked.
    private static func reap(_ children: NIOLoopBoundBox<[Int32: Worker]>, _ watch: NIOLoopBoundBox<WorkerWatch>) {
        for (pid, worker) in children.value where worker.reap() {
            children.value[pid] = nil
            watch.value.ended(pid)
        }
    }

    package func shutdown() async {
        childSignal.cancel()
        // One that is being told needs the thread.
        for await _ in signals.stream {}
        try? await group.shutdownGracefully()
        cgroups?.close()
    }
}
