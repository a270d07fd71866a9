package import NIOCore
package import NIOEmbedded
package import Workers

/// Workers without processes: a test answers their links itself.
///
/// `@unchecked Sendable`: used on the thread of its embedded loop only.
package final class ScriptedProcesses: WorkerProcesses, @unchecked Sendable {
    /// The outcome of starting a worker.
    package enum Start {
        case ready
        /// It never says that it is ready.
        case silent
        /// No process can be started.
        case fails
    }

    package let loop: EmbeddedEventLoop
    package var eventLoop: any EventLoop { loop }
    /// The outcome for workers that are started from now on.
    package var start = Start.ready
    /// All that were ever started, the last one last.
    package private(set) var workers: [ScriptedWorker] = []
    /// Answers each invocation as soon as it comes; nil if the test takes them from ``ScriptedWorker/next()``.
    package var handler: ((ScriptedInvocation) -> Void)?

    package init(loop: EmbeddedEventLoop) { self.loop = loop }

    package func start(_ worker: Worker) {
        let start = start
        // As a supervisor does it: not within the pool's call.
        loop.execute { [self] in
            if start == .fails { return worker.startFailed(StartFailure()) }
            let scripted = ScriptedWorker(worker, by: self)
            workers.append(scripted)
            scripted.connect()
            if start == .ready { scripted.sendReady() }
        }
    }

    /// Reads what the host has sent to the workers.
    /// - Returns: whether it has sent anything.
    package func receive() -> Bool { workers.reduce(false) { $1.receive() || $0 } }
}

private struct StartFailure: Error {}
