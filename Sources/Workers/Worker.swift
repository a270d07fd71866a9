import WorkerProtocol
package import Logging
import NIOCore
import Synchronization

/// One process of a release that runs one function, with a link to each gateway loop.
package final class Worker: Sendable {
    private struct State {
        /// Nil until it is started.
        var process: (any WorkerProcess)?
        var readyLinks = 0
        var openLinks = 0
        /// The reason for which the host ends the worker; nil if it doesn't.
        var reason: WorkerEnd?
        /// How the process ended; nil while it runs.
        var status: ProcessStatus?
        /// Why it crashed, as it said itself.
        var crashMessage: String?
        var startedAt: NIODeadline?
        /// Whether more may come from its standard error.
        var hasErrors = false
        /// Whether the end was reported: the process and its last link may end at the same time, on two threads.
        var isGone = false
        var onGone: [@Sendable (WorkerEnd, _ wasAlone: Bool) -> Void] = []
    }

    package let id: UInt64
    let pool: WorkerPool
    package let logger: Logger
    /// For what the function logs and prints, whose level is its own.
    let lineLogger: Logger
    private let processes: any WorkerProcesses
    private let state = Mutex(State())
    let output: Mutex<OutputBudget>
    /// Whether the worker is sampled often already, so that the watch needn't be woken up.
    private let isWatchedClosely = Atomic(true)
    let hasWarnedOfFiles = Atomic(false)
    let hasWarnedOfOutput = Atomic(false)
    /// By the index of their loop.
    ///
    /// `nonisolated(unsafe)`: set in `init` and never changed.
    package private(set) nonisolated(unsafe) var links: [WorkerLink] = []

    /// A worker that isn't ready by then is considered hung.
    private static let startTimeout = TimeAmount.seconds(10)
    /// How long a process may take to end once its links are closed.
    private static let endTimeout = TimeAmount.seconds(2)
    /// How long one that has closed its links may take: a crash is followed by its backtrace.
    private static let crashTimeout = TimeAmount.seconds(10)
    /// How long the end of a process waits for what it has written last. A process that it has started may keep its
    /// standard error open.
    private static let lastErrors = TimeAmount.milliseconds(500)
    private static let maxCrashMessage = 500

    init(id: WorkerPoolState.WorkerID, pool: WorkerPool, processes: any WorkerProcesses, loops: [InvocationLoop]) {
        self.id = id
        self.pool = pool
        self.processes = processes
        output = Mutex(OutputBudget(now: processes.eventLoop.now))
        var logger = pool.logger
        logger[metadataKey: "worker.id"] = "\(id)"
        self.logger = logger
        logger.logLevel = pool.launch.logLevel
        lineLogger = logger
        let bytes = pool.services.operationBytes.account()
        links = loops.map { WorkerLink(loop: $0, worker: self, bytes: bytes, frameBytes: pool.frameBytes) }
    }

    /// The function that it runs.
    package var function: String { pool.name }

    package var launch: WorkerLaunch { pool.launch }

    var limits: WorkerLimits { pool.launch.limits }

    /// The process runs. It must make its links ready in time.
    package func started(_ process: any WorkerProcess) {
        let isEnding = state.withLock { state in
            state.process = process
            state.openLinks = links.count
            state.startedAt = now
            return state.reason != nil
        }
        // The host has ended the worker before it had a process. Its links and limits are set up first.
        if isEnding { schedule(in: .zero) { process.kill() } }
        schedule(in: Self.startTimeout) { [weak self] in self?.killUnlessReady() }
    }

    package func startFailed(_ error: any Error) {
        logger.error("the worker can't be started", metadata: ["error": "\(error)"])
        pool.workerGone(self, end: .crash(.neverStarted))
    }

    func schedule(in time: TimeAmount, _ action: @escaping @Sendable () -> Void) {
        processes.eventLoop.scheduleTask(in: time, action)
    }

    var now: NIODeadline { processes.eventLoop.now }

    private struct Executions {
        var running: [String] = []
        var last: String?
        /// Those that were lost before they were answered.
        var unanswered: [String] = []
        /// The number of running executions when the first link closed.
        var lost: Int?
    }

    private let executions = Mutex(Executions())

    /// The execution that the worker's output belongs to: the only one that runs or, if none does, the last one,
    /// because an answer may arrive before what its handler printed. Nil if several run.
    var soleExecution: String? {
        executions.withLock { $0.running.count > 1 || $0.lost ?? 0 > 1 ? nil : $0.running.first ?? $0.last }
    }

    var isBusy: Bool { executions.withLock { !$0.running.isEmpty } }

    /// - Returns: false if the process is lost, so that the execution can't begin.
    func began(_ execution: String) -> Bool {
        let isWhole = executions.withLock { executions in
            guard executions.lost == nil else { return false }
            executions.running.append(execution)
            return true
        }
        guard isWhole else { return false }
        guard !isWatchedClosely.load(ordering: .sequentiallyConsistent) else { return true }
        isWatchedClosely.store(true, ordering: .sequentiallyConsistent)
        state.withLock { $0.process }?.markActive()
        return true
    }

    /// The worker is sampled less often, because it is idle.
    /// - Returns: whether it is still idle: work may have arrived meanwhile.
    func markIdle() -> Bool {
        isWatchedClosely.store(false, ordering: .sequentiallyConsistent)
        guard isBusy else { return true }
        isWatchedClosely.store(true, ordering: .sequentiallyConsistent)
        return false
    }

    /// An invocation was returned before its handler began.
    func returned(_ execution: String) {
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

    /// A client waited for an execution when its link was closed. It is logged with the worker's end.
    func lost(_ execution: String) { executions.withLock { $0.unanswered.append(execution) } }

    /// Recalls the invocations whose handlers haven't begun, because something blocks the worker's threads.
    func recallAll() {
        for link in links { link.loop.eventLoop.execute { link.recallAll() } }
    }

    /// One of the links is closed, and the running invocations are lost.
    func broke() {
        // The pool first: otherwise it might dispatch an invocation that the worker refuses.
        pool.workerBroke(self, isCrash: state.withLock { $0.reason } == nil)
        executions.withLock { if $0.lost == nil { $0.lost = $0.running.count } }
    }

    // MARK: Ends

    /// Closes the links: the worker is idle, and exits or is killed.
    func end(_ reason: WorkerEnd) {
        setReason(reason)
        for link in links { link.loop.eventLoop.execute { link.close() } }
        schedule(in: Self.endTimeout) { [weak self] in self?.kill(reason) }
    }

    /// Kills the process and all processes that it has started.
    package func kill(_ reason: WorkerEnd) {
        setReason(reason)
        state.withLock { $0.process }?.kill()
    }

    private func killUnlessReady() {
        if state.withLock({ $0.readyLinks < links.count && $0.status == nil }) { kill(.slowStart) }
    }

    /// Kills the process, which has closed its links. One whose backtrace takes too long ends as the crash that it is.
    private func killUnlinked() {
        let (process, isCrashing) = state.withLock { ($0.process, $0.crashMessage != nil) }
        if isCrashing { process?.kill() } else { kill(.violation("it closed its link")) }
    }

    private func setReason(_ reason: WorkerEnd) {
        state.withLock { if $0.reason == nil { $0.reason = reason } }
    }

    func linkBecameReady() {
        let startedAt: NIODeadline? = state.withLock { state in
            state.readyLinks += 1
            return state.readyLinks == links.count ? state.startedAt : nil
        }
        guard let startedAt else { return }
        pool.services.calls.counters(of: function).workerStarted(in: now - startedAt)
        pool.workerBecameReady(self)
    }

    /// A worker that lacks a link can't serve and is ended.
    package func linkClosed() {
        let isLast = state.withLock { state in
            state.openLinks -= 1
            return state.openLinks == 0
        }
        // Scheduled first: once the worker is gone, the supervisor may end with the host.
        schedule(in: Self.crashTimeout) { [weak self] in self?.killUnlinked() }
        if isLast { goneIfOver() } else { for link in links { link.loop.eventLoop.execute { link.close() } } }
    }

    /// The process's standard error will be read.
    func expectErrors() { state.withLock { $0.hasErrors = true } }

    /// The process reports a crash of its own: once it begins to, and again with what it says of it later.
    func crashed(_ message: String) {
        let message = message.count > Self.maxCrashMessage ? message.prefix(Self.maxCrashMessage) + "…" : message
        state.withLock { $0.crashMessage = message }
    }

    /// Nothing more comes from the process's standard error.
    func errorsEnded() {
        state.withLock { $0.hasErrors = false }
        goneIfOver()
    }

    /// The process has ended; called once, on any thread.
    ///
    /// - Parameter reason: the limit for which the system killed it; nil if it wasn't.
    package func processEnded(_ status: ProcessStatus, killedFor reason: WorkerEnd? = nil) {
        if let reason { setReason(reason) }
        state.withLock { $0.status = status }
        schedule(in: Self.lastErrors) { [weak self] in self?.errorsEnded() }
        // The process's end of the links is closed. Ours closes after everything it sent has been read.
        schedule(in: .milliseconds(100)) { [weak self] in
            for link in self?.links ?? [] { link.loop.eventLoop.execute { link.close() } }
        }
        goneIfOver()
    }

    /// - Parameter action: called once the process has ended and all links are closed, with whether the process ran
    ///   only one invocation. One of the links must be open.
    func whenGone(_ action: @escaping @Sendable (WorkerEnd, _ wasAlone: Bool) -> Void) {
        state.withLock { $0.onGone.append(action) }
    }

    private func goneIfOver() {
        typealias Over = (
            process: (any WorkerProcess)?, reason: WorkerEnd, status: ProcessStatus,
            onGone: [@Sendable (WorkerEnd, Bool) -> Void]
        )
        let over: Over? = state.withLock { state in
            guard var status = state.status, state.openLinks == 0, !state.hasErrors, !state.isGone else { return nil }
            status.message = state.crashMessage
            state.isGone = true
            defer {
                state.onGone = []
                state.process = nil
            }
            return (state.process, state.reason ?? .crash(status), status, state.onGone)
        }
        guard let over else { return }
        // First, so that the end is counted before it is logged.
        over.process?.workerEnded(over.reason)
        let lost = executions.withLock { $0.unanswered }
        let message: Logger.Message =
            switch over.reason {
            case .memory: "the worker was killed: the function used more memory than it may"
            case .processes: "the worker was killed: the function started more processes than it may"
            default: lost.isEmpty ? "a worker has ended" : "a worker ended before its handlers did"
            }
        var metadata: Logger.Metadata = [
            "worker.end": "\(over.reason)", "worker.cpu": "\(over.status.cpuMicroseconds) µs",
            "worker.maxResident": "\(over.status.maxResidentKiB) KiB",
        ]
        if lost.count == 1 { metadata["execution.id"] = "\(lost[0])" }
        if lost.count > 1 { metadata["executions"] = "\(lost.joined(separator: " "))" }
        logger.log(level: over.reason.isCrash || !lost.isEmpty ? .error : .debug, message, metadata: metadata)
        let wasAlone = executions.withLock { ($0.lost ?? 0) <= 1 }
        for action in over.onGone { action(over.reason, wasAlone) }
        pool.workerGone(self, end: over.reason)
    }
}

extension ProcessStatus {
    static let neverStarted = ProcessStatus(outcome: .exited(-1), cpuMicroseconds: 0, maxResidentKiB: 0)
}
