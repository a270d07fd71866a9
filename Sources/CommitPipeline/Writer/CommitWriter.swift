import DocumentModel
import StorageEngine

/// The writer's thread: runs the waiting jobs in order in one durable batch, and then answers them.
final class CommitWriter: @unchecked Sendable {
    // Everything here is used only by the thread that calls `run`.
    private let pipeline: CommitPipeline
    private let jobs: JobQueue<any CommitJob>
    private let kinds: [any DataKind]
    private let versions: VersionCounter
    /// The change log's bounds after the last durable batch.
    private var history: HistoryBounds
    private var generations: KindGenerations
    private let queues = OrderingQueues()
    private var refusals = RefusalReports()
    /// The change log's rows up to this version aren't read any more.
    private var oldestActiveRead: Int64
    private var sweptAt: Duration?
    private var answers = ExpirySweep(CompletionRecord.expiries)
    private var taskNames = ExpirySweep(OutboxKey.taskNameExpiries)
    private let damage: DamageReports
    /// When the removal of rows has last failed, by their name, because they can't be read.
    private var obstructedAt: [String: Duration] = [:]
    /// Until when each batch has one job: damage that no job meets while it runs fails only those that cause it then.
    private var aloneUntil: Duration?
    /// How long that is, and how long rows aren't removed that couldn't be read.
    private static let damagePause: Duration = .seconds(60)
    /// Whether the change log still has rows that should be removed.
    private var isTrimBehind = false
    /// The longest sleep, because transactions expire and the log ages even if nothing is written.
    private static let longestSleep: Duration = .seconds(10)

    init(_ pipeline: CommitPipeline, jobs: JobQueue<any CommitJob>, kinds: [any DataKind]) throws {
        self.pipeline = pipeline
        self.jobs = jobs
        self.kinds = kinds
        let (version, generations, history) = try pipeline.engine.write { storage in
            let (version, generations) = try StoreVersion.readRow(storage)
            return (version, generations, try HistoryBounds.read(storage) ?? HistoryBounds(floor: version, bytes: 0))
        }
        versions = VersionCounter(version)
        damage = DamageReports(elapsed: pipeline.elapsed, pipeline.configuration.onDamage)
        self.generations = generations
        self.history = history
        oldestActiveRead = version
    }

    func run() {
        var left: [any CommitJob] = []
        while let next = left.isEmpty ? jobs.take(within: pause) : left { left = runBatch(next) }
        for kind in kinds { kind.refuseAll(CommitPipeline.shutDown) }
    }

    /// How long the writer may sleep.
    var pause: Duration {
        let trimming: Duration = isTrimBehind ? .milliseconds(100) : Self.longestSleep
        return kinds.reduce(trimming) { min($0, $1.pause ?? $0) }
    }

    /// One durable batch.
    ///
    /// - Returns: the jobs left for the next batch, if this one was full, or had to have one job.
    @discardableResult
    func runBatch(_ first: [any CommitJob]) -> [any CommitJob] {
        var waiting = inOrder(first)
        var next = 0
        var open: CommitBatch?
        // Whether a job runs, and whether the writer does work of its own.
        var (isRunning, isWorking) = (false, false)
        let isAlone = self.isAlone
        do {
            let batch = try pipeline.engine.write { storage in
                let batch = begin(storage)
                batch.isForOneJob = isAlone && !waiting.isEmpty
                open = batch
                let start = ContinuousClock.now
                while true {
                    while next < (isAlone ? min(waiting.count, 1) : waiting.count), !batch.isFull {
                        let othersWait = isAwaited(waiting[next])
                        isRunning = true
                        try waiting[next].run(in: batch)
                        isRunning = false
                        next += 1
                        guard !isAlone else { continue }
                        // The next of those that wait goes on while the jobs behind this one run.
                        if othersWait { for kind in kinds { try kind.finishRound(in: batch, to: batch.writer) } }
                        if next < waiting.count, let more = awaitedJobs(after: ContinuousClock.now - start) {
                            let (awaited, others) = split(more)
                            waiting.insert(contentsOf: awaited, at: next)
                            waiting += others
                        }
                    }
                    for kind in kinds { try kind.finishRound(in: batch, to: batch.writer) }
                    guard !isAlone, !batch.isFull, let more = jobsToJoin(after: ContinuousClock.now - start) else {
                        break
                    }
                    waiting += inOrder(more)
                }
                isWorking = true
                for kind in kinds { try kind.work(in: batch, to: batch.writer, isIdle: waiting.isEmpty) }
                try finish(batch)
                isWorking = false
                return batch
            }
            keep(batch)
            pipeline.engine.settle()
        } catch {
            if let refusal = error as? StorageError, refusals.refused(refusal, at: pipeline.elapsed()) {
                pipeline.configuration.onRefusal(refusal)
            }
            let failure = DocumentError(from: error)
            let isDamage = failure.code == .dataLoss
            var others = failure
            let guilty = isRunning ? waiting[next] : nil
            let rest = waiting[(isRunning ? next + 1 : next)...]
            // Clients give up what has met damage. So that they don't give up what has only shared a batch with it, or
            // with rows that the writer removes, all are to send theirs again, and what is alone in a batch then fails
            // for good.
            if isDamage, !isAlone || isWorking { others.code = .unavailable }
            // Under load, what has met it would never be alone.
            if isDamage, !isRunning, !isWorking, !waiting.isEmpty { aloneUntil = pipeline.elapsed() + Self.damagePause }
            // If none was begun, the next batch would be the same.
            let isTried = isAlone && (isRunning || next > 0)
            fail(others, isDamage: isDamage, open, isTried ? [] : rest)
            guilty?.fail(failure)
            return isTried ? Array(rest) : []
        }
        return Array(waiting[next...])
    }

    /// Whether the next batch has one job.
    private var isAlone: Bool {
        guard let aloneUntil else { return false }
        if pipeline.elapsed() < aloneUntil { return true }
        self.aloneUntil = nil
        return false
    }

    /// Jobs that can share the sync of a batch: those that have come meanwhile, and callers that return at once.
    private func jobsToJoin(after elapsed: Duration) -> [any CommitJob]? {
        let configuration = pipeline.configuration
        let awaitsCallers = kinds.contains { $0.expectsMoreJobs }
        guard elapsed < (awaitsCallers ? configuration.groupLimit : configuration.joinLimit),
            awaitsCallers || !jobs.isEmpty,
            let more = jobs.take(within: configuration.groupPause), !more.isEmpty
        else { return nil }
        return more
    }

    /// What has come while jobs run, if a transaction may be among it for which others wait.
    private func awaitedJobs(after elapsed: @autoclosure () -> Duration) -> [any CommitJob]? {
        guard kinds.contains(where: { $0.expectsMoreJobs }), !jobs.isEmpty,
            elapsed() < pipeline.configuration.groupLimit
        else { return nil }
        return jobs.take(within: .zero)
    }

    private func isAwaited(_ job: any CommitJob) -> Bool {
        guard let transaction = job.endedTransaction else { return false }
        return kinds.contains { $0.isAwaited(transaction) }
    }

    /// Those first for which others wait.
    private func inOrder(_ jobs: [any CommitJob]) -> [any CommitJob] {
        let (awaited, others) = split(jobs)
        return awaited.isEmpty ? jobs : awaited + others
    }

    private func split(_ jobs: [any CommitJob]) -> (awaited: [any CommitJob], others: [any CommitJob]) {
        let awaited = jobs.filter(isAwaited)
        return awaited.isEmpty ? ([], jobs) : (awaited, jobs.filter { !isAwaited($0) })
    }

    private func begin(_ storage: any StorageWriter) -> CommitBatch {
        for kind in kinds { kind.beginBatch() }
        let outbox = pipeline.outbox
        return CommitBatch(
            OutboxBatch(storage, versions: versions, queues: queues, leases: outbox.leases, damage: damage),
            history: history, maxBytes: pipeline.configuration.maxBatchBytes, routes: { outbox.routes },
            now: pipeline.now,
            hasWaitingJobs: { [jobs] in !jobs.isEmpty })
    }

    /// Writes the rows that end every batch.
    private func finish(_ batch: CommitBatch) throws {
        let generations = generations.updated(by: kinds)
        if versions.applied != versions.durable || generations != self.generations {
            try StoreVersion.write(versions.applied, generations, to: batch.writer)
        }
        try sweep(batch)
        guard !batch.isForOneJob else { return try batch.keepHistory(from: history) }
        let configuration = pipeline.configuration
        let retention = configuration.historyRetention.components
        let kept = retention.seconds * 1_000_000 + retention.attoseconds / 1_000_000_000_000
        isTrimBehind = try removing("old changes") {
            try batch.trimHistory(
                upTo: min(pipeline.now().microseconds - kept, oldestActiveRead), oldestActiveRead: oldestActiveRead,
                maxBytes: configuration.maxHistoryBytes, from: history)
        }
        try batch.keepHistory(from: history)
    }

    /// Removes rows that are of no use any more. If they can't be read, they stay: no commit needs them, so that none
    /// fails because of them. SQLite may roll the batch back nevertheless, so they are left alone for a while.
    ///
    /// - Parameter body: returns whether there may be more. It changes nothing before it has read all that it needs.
    private func removing(_ rows: String, _ body: () throws -> Bool) throws -> Bool {
        if let time = obstructedAt[rows] {
            guard pipeline.elapsed() - time >= Self.damagePause else { return false }
            obstructedAt[rows] = nil
        }
        do { return try body() } catch let error as StorageError where error.isOfRows {
            obstructedAt[rows] = pipeline.elapsed()
            damage.note(error, "removing \(rows)")
            return false
        }
    }

    /// Called when the batch is durable. Listeners are notified before callers are answered: a caller that has its
    /// answer can rely on that.
    private func keep(_ batch: CommitBatch) {
        let isNew = versions.applied != versions.durable
        // A batch without changes needs no room on the disk.
        if isNew, refusals.kept() { pipeline.configuration.onRefusal(nil) }
        versions.keep()
        history = batch.history
        generations = generations.updated(by: kinds)
        // Before the kinds: a kind may hand answers to a thread of its own.
        batch.outbox.publish(to: pipeline.outbox)
        if let version = batch.lastLogged { pipeline.signal.publish(version) }
        for kind in kinds { kind.committed(isNew ? versions.durable : nil) }
        batch.answer(nil)
    }

    /// Called when nothing of the batch was kept: its jobs and those behind them fail, and the state is the last
    /// durable one.
    ///
    /// - Parameter isDamage: whether the reason is damage, whatever the error is.
    private func fail(
        _ error: DocumentError, isDamage: Bool, _ batch: CommitBatch?, _ rest: ArraySlice<any CommitJob>
    ) {
        versions.rollBack()
        for kind in kinds { kind.rollBack(to: versions.durable, error, isDamage: isDamage) }
        queues.forget()
        answers.restart()
        taskNames.restart()
        batch?.outbox.releaseLeases()
        batch?.answer(error)
        for job in rest { job.fail(error) }
    }

    /// Forgets what has expired, and removes expired rows, once a second.
    private func sweep(_ batch: CommitBatch) throws {
        let time = pipeline.elapsed()
        if let sweptAt, time - sweptAt < .seconds(1) { return }
        sweptAt = time
        oldestActiveRead = kinds.compactMap { $0.expire() }.min() ?? versions.durable
        guard !batch.isForOneJob else { return }
        let now = pipeline.now()
        let areMoreAnswers = try removing("expired answers") {
            try answers.run(in: batch.writer, at: now, atMost: 2000)
        }
        let areMoreNames = try removing("names of ended tasks") {
            try taskNames.run(in: batch.writer, at: now, atMost: 500)
        }
        let areMoreLateNames = try removing("names of ended tasks") {
            try batch.writer.shortenNames(at: now, atMost: 500)
        }
        // The next batch continues.
        if areMoreAnswers || areMoreNames || areMoreLateNames { sweptAt = nil }
    }
}
