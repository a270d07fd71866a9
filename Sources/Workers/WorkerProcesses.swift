package import NIOCore

/// Starts the processes of workers and keeps the time for workers and their pools.
///
/// ``WorkerSupervisor`` spawns a bundle's executable. Another implementation may answer on the links itself.
package protocol WorkerProcesses: Sendable {
    /// Runs the timers of workers and pools, on its clock.
    var eventLoop: any EventLoop { get }

    /// Starts a process for a worker. Returns at once.
    ///
    /// Calls ``Worker/started(_:)`` and connects the worker's links, or calls ``Worker/startFailed(_:)``; later it calls
    /// ``Worker/processEnded(_:killedFor:)`` once.
    func start(_ worker: Worker)
}

/// The running process of one worker.
package protocol WorkerProcess: Sendable {
    /// Kills the process and all processes that it has started. Does nothing after it has ended.
    func kill()

    /// The worker has work again after ``Worker/markIdle()``: its memory is sampled often from now on.
    func markActive()

    /// The process has ended and the worker's links are closed. Called once, on any thread, before the pool learns of it.
    func workerEnded(_ end: WorkerEnd)
}
