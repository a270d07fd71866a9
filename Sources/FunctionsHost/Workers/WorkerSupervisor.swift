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
final class WorkerSupervisor: Sendable {
    private let group: MultiThreadedEventLoopGroup
    let eventLoop: any EventLoop
    private let childSignal: any DispatchSourceSignal
    private let children: NIOLoopBoundBox<[Int32: Worker]>

    init() {
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        eventLoop = group.next()
        children = .makeBoxSendingValue([:], eventLoop: eventLoop)
        childSignal = DispatchSource.makeSignalSource(signal: SIGCHLD)
        childSignal.setEventHandler { [eventLoop, children] in
            eventLoop.execute { Self.reap(children) }
        }
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
        // It may have ended before it was known here.
        eventLoop.execute { [children] in Self.reap(children) }
    }

    /// One signal may stand for many ends, so every child is asked.
    private static func reap(_ children: NIOLoopBoundBox<[Int32: Worker]>) {
        for (pid, worker) in children.value where worker.reap() { children.value[pid] = nil }
    }

    func shutdown() async {
        childSignal.cancel()
        try? await group.shutdownGracefully()
    }
}
