import CommitPipeline
package import ControlProtocol
package import DocumentModel
package import DocumentStore
import EventDelivery
package import FunctionManifest
package import HostProcess
package import Logging
import ServiceLifecycle
import Synchronization

/// Creates the runs of all jobs when they are due, and answers commands on them.
///
/// All events pass through one queue, so that two decisions on a job can't interleave.
package final class ScheduleRunner: Service {
    private enum Signal: Sendable {
        case alarm
        case ended([DeliveryEnd])
        case list(count: Int, Reply<ScheduleListing>)
        case run(String, isAwaited: Bool, Reply<ManualRunReport>)
        case serve([ScheduledJob])
    }

    /// What is left once no more signals are handled.
    private struct Rest: Sendable {
        var keeper: ScheduleKeeper?
        var ends: [DeliveryEnd] = []
    }

    private let jobs: Mutex<[ScheduledJob]>
    private let store: DocumentStore
    private let now: @Sendable () -> Timestamp
    private let alarm: any ScheduleAlarm
    private let logger: Logger
    private let signals: AsyncStream<Signal>
    private let queue: AsyncStream<Signal>.Continuation
    private let rest = Mutex(Rest())

    /// - Parameters:
    ///   - functions: all served functions; those without a schedule are ignored.
    ///   - now: the wall clock.
    /// - Throws: an error that explains which schedule can't be parsed.
    package init(
        _ functions: [FunctionManifest], store: DocumentStore, now: @escaping @Sendable () -> Timestamp,
        alarm: any ScheduleAlarm, logger: Logger
    ) throws {
        jobs = Mutex(try Self.jobs(of: functions))
        self.store = store
        // Truncated to the precision of stored times, so that a record is the same before and after a restart.
        self.now = { now().truncatedToMicroseconds }
        self.alarm = alarm
        self.logger = logger
        (signals, queue) = AsyncStream.makeStream()
        store.outbox.onEnds { [weak self] ends in
            guard let self else { return }
            let names = jobs.withLock { $0.map(\.name) }
            guard !names.isEmpty else { return }
            let ofJobs = ends.filter { names.contains($0.id.function) }
            guard !ofJobs.isEmpty, case .terminated = queue.yield(.ended(ofJobs)) else { return }
            rest.withLock { $0.ends += ofJobs }
        }
    }

    private static func jobs(of functions: [FunctionManifest]) throws(HostError) -> [ScheduledJob] {
        var jobs: [ScheduledJob] = []
        for function in functions {
            do throws(ScheduleError) {
                if let job = try ScheduledJob(function) { jobs.append(job) }
            } catch {
                throw HostError("the schedule of \(function.name) can't be kept: \(error)")
            }
        }
        return jobs
    }

    /// Creates the runs of these functions' schedules from now on, and of no others. Runs that were due while a job
    /// wasn't served count as missed, as if the host had been down.
    ///
    /// - Throws: an error that explains which schedule can't be parsed; then nothing has changed.
    package func serve(_ functions: [FunctionManifest]) throws(HostError) {
        let new = try Self.jobs(of: functions)
        jobs.withLock { $0 = new }
        queue.yield(.serve(new))
    }

    package func run() async throws {
        await withGracefulShutdownHandler {
            let jobs = jobs.withLock { $0 }
            var keeper = ScheduleKeeper(jobs, store: store, logger: logger)
            // The callers that wait for the end of a run.
            var waiting: [EventID: (name: String, reply: Reply<ManualRunReport>)] = [:]
            if !jobs.isEmpty { setAlarm(await keeper.step(at: now())) }
            for await signal in signals {
                switch signal {
                case .alarm: setAlarm(await keeper.step(at: now()))
                case .serve(let jobs):
                    let names = Set(jobs.map(\.name))
                    for (event, entry) in waiting where !names.contains(entry.name) {
                        waiting[event] = nil
                        entry.reply.fail(
                            DocumentError(.failedPrecondition, "\(entry.name) isn't served any more; its run was made"))
                    }
                    keeper.serve(jobs, at: now())
                    setAlarm(await keeper.step(at: now()))
                case .ended(let ends):
                    setAlarm(await keeper.ended(ends, at: now()))
                    for end in ends {
                        guard let (name, reply) = waiting.removeValue(forKey: end.id.event) else { continue }
                        reply.succeed(ManualRunReport(end, name))
                    }
                case .list(let count, let reply):
                    let (now, keeper) = (now(), keeper)
                    await reply.complete { () throws(DocumentError) in try await keeper.listing(at: now, count: count) }
                case .run(let name, let isAwaited, let reply):
                    do throws(DocumentError) {
                        let event = try await keeper.run(name, at: now())
                        if isAwaited {
                            waiting[event] = (name, reply)
                        } else {
                            reply.succeed(ManualRunReport(name: name, id: event.description))
                        }
                    } catch {
                        reply.fail(error)
                    }
                }
            }
            let last = keeper
            rest.withLock { $0.keeper = last }
        } onGracefulShutdown: { [queue] in
            queue.finish()
        }
        queue.finish()
    }

    /// Records the ends of runs since ``run()`` has returned: handlers have time to end while the host stops. Call once
    /// nothing runs any more.
    package func finish() async {
        // The store reports ends that it was given before this.
        _ = try? await store.outbox.keep([])
        let rest = rest.withLock { $0 }
        guard var keeper = rest.keeper, !rest.ends.isEmpty else { return }
        await keeper.record(rest.ends)
    }

    // MARK: Commands

    package func listing(count: Int) async throws(DocumentError) -> ScheduleListing {
        try await ask { .list(count: count, $0) }
    }

    /// Creates a run now.
    ///
    /// - Parameter isAwaited: whether to return once the run has ended; otherwise once its delivery is durable.
    package func run(_ name: String, isAwaited: Bool) async throws(DocumentError) -> ManualRunReport {
        try await ask { .run(name, isAwaited: isAwaited, $0) }
    }

    private func ask<Answer: Sendable>(_ signal: (Reply<Answer>) -> Signal) async throws(DocumentError) -> Answer {
        let result = await withCheckedContinuation { continuation in
            // A reply that isn't answered fails when it is released.
            _ = queue.yield(signal(Reply(continuation)))
        }
        return try result.get()
    }

    // MARK: Parts

    private func setAlarm(_ time: Timestamp) {
        let seconds = min(max(0, time.seconds(since: now())), Double(ScheduleKeeper.longestWait))
        alarm.set(after: .microseconds(Int64(seconds * 1_000_000))) { [queue] in
            queue.yield(.alarm)
        }
    }

}

extension ManualRunReport {
    fileprivate init(_ end: DeliveryEnd, _ name: String) {
        self.init(
            name: name, id: end.id.event.description, outcome: ScheduleRecord.Outcome(end.outcome).name,
            error: end.error)
    }
}

/// The answer that a caller waits for. A reply that is released unanswered reports that the host is stopping.
private final class Reply<Answer: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Result<Answer, DocumentError>, Never>?>

    init(_ continuation: CheckedContinuation<Result<Answer, DocumentError>, Never>) {
        self.continuation = Mutex(continuation)
    }

    deinit { give(.failure(.hostStops)) }

    func succeed(_ answer: Answer) { give(.success(answer)) }
    func fail(_ error: DocumentError) { give(.failure(error)) }

    func complete(_ body: () async throws(DocumentError) -> Answer) async {
        do throws(DocumentError) { succeed(try await body()) } catch { fail(error) }
    }

    private func give(_ result: Result<Answer, DocumentError>) {
        let continuation = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        continuation?.resume(returning: result)
    }
}
