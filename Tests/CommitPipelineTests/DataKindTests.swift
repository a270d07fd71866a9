import TestSupport
import Synchronization
import CommitPipeline
import DocumentModel
import StorageEngine
import StoreTestSupport
import Testing

/// A kind that the pipeline has never heard of is committed together with events, tasks and kept answers.
struct DataKindTests {
    private let clock = ManualClock()

    private func open(_ engine: any StorageEngine) throws -> (CommitPipeline, Counters) {
        let pipeline = try CommitPipeline(engine: engine, now: clock.timestamp, elapsed: clock.elapsed)
        pipeline.outbox.routes = EventRoutes(queues: ["mail"])
        let counters = try pipeline.add { try Counters($0) }
        try pipeline.start()
        return (pipeline, counters)
    }

    /// Runs the body with a started pipeline, which is shut down however the body ends.
    @discardableResult
    private func withPipeline<Result>(
        _ engine: any StorageEngine, _ body: (CommitPipeline, Counters) async throws -> Result
    ) async throws -> Result {
        let (pipeline, counters) = try open(engine)
        do {
            let result = try await body(pipeline, counters)
            await pipeline.shutdown()
            return result
        } catch {
            await pipeline.shutdown()
            throw error
        }
    }

    private func count(_ engine: any StorageEngine, _ name: String) throws -> UInt8 {
        try engine.makeReadSession().read { try $0.get(.meta, Counters.key(name))?[0] ?? 0 }
    }

    private func pending(_ pipeline: CommitPipeline) async throws -> [String: Int] {
        try await pipeline.outbox.counts().reduce(into: [:]) { $0[$1.function] = $1.pending }
    }

    @Test func aCommitHasItsPartsEventsTasksAndAnswer() async throws {
        let engine = MemoryEngine()
        let counters = try await withPipeline(engine) { pipeline, counters in
            let context = OperationContext(completion: CompletionKey(scope: "f", key: "k", fingerprint: [1]))
            let task = Effect.enqueue(TaskDraft(queue: "mail", body: [1]))
            for isFirst in [true, false] {
                let outcome = await pipeline.commit {
                    Commit(
                        [CountUp("a", counters), CountUp("b", counters)], answer: [7], effects: [task], in: context)
                }
                if isFirst {
                    guard case .applied = outcome else { throw DocumentError(.internal, "\(outcome)") }
                } else {
                    // The key was used before, so nothing is done again.
                    #expect(outcome == .completedBefore(.answer([7])))
                }
            }
            #expect(try count(engine, "a") == 1)
            #expect(try count(engine, "b") == 1)
            #expect(try await pending(pipeline) == ["audit": 2, "mail": 1])
            return counters
        }
        #expect(counters.notifications.last == "committed")
    }

    @Test func aPartThatRefusesLeavesNoTraceOfTheOthers() async throws {
        let engine = MemoryEngine()
        try await withPipeline(engine) { pipeline, counters in
            for _ in 0..<3 { _ = await pipeline.commit { Commit([CountUp("full", counters)]) } }
            let outcome = await pipeline.commit { Commit([CountUp("a", counters), CountUp("full", counters)]) }
            guard case .refused(let error) = outcome else { throw DocumentError(.internal, "\(outcome)") }
            #expect(error.code == .failedPrecondition)
            // Nor does one whose effect fails.
            let nowhere = Effect.enqueue(TaskDraft(queue: "nowhere", body: []))
            let impossible = await pipeline.commit { Commit([CountUp("a", counters)], effects: [nowhere]) }
            guard case .refused(let reason) = impossible else { throw DocumentError(.internal, "\(impossible)") }
            #expect(reason.code == .notFound)
            #expect(try count(engine, "a") == 0)
            #expect(try await pending(pipeline) == ["audit": 3])
        }
    }

    @Test func aBatchThatFailsIsRolledBackInEveryKind() async throws {
        let engine = FailingEngine()
        let counters = try await withPipeline(engine) { pipeline, counters in
            _ = await pipeline.commit { Commit([CountUp("a", counters)]) }
            engine.fails.withLock { $0 = true }
            let outcome = await pipeline.commit { Commit([CountUp("a", counters)]) }
            engine.fails.withLock { $0 = false }
            guard case .refused(let error) = outcome else { throw DocumentError(.internal, "\(outcome)") }
            #expect(error.code == .unavailable)
            #expect(try count(engine, "a") == 1)
            #expect(try await pending(pipeline) == ["audit": 1])
            // The kind goes on from what is durable.
            _ = await pipeline.commit { Commit([CountUp("a", counters)]) }
            #expect(try count(engine, "a") == 2)
            return counters
        }
        #expect(counters.notifications.contains("rolled back"))
    }

    /// The file is opened again as a kill leaves it: without a shutdown of the first pipeline.
    @Test func whatWasAnsweredIsThereAfterAKill() async throws {
        let engine = MemoryEngine()
        let (killed, counters) = try open(engine)
        let first = await killed.commit { Commit([CountUp("a", counters)]) }
        let (pipeline, again) = try open(engine)
        let second = await pipeline.commit { Commit([CountUp("a", again)]) }
        guard case .applied(let before) = first, case .applied(let after) = second else {
            throw DocumentError(.internal, "\(first), \(second)")
        }
        #expect(before < after)
        #expect(try count(engine, "a") == 2)
        #expect(try await pending(pipeline) == ["audit": 2])
        await pipeline.shutdown()
        await killed.shutdown()
    }

    @Test func aKindCannotBeAddedToAStartedPipeline() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let pipeline = try CommitPipeline(engine: MemoryEngine(), now: ManualClock().timestamp)
            try pipeline.start()
            _ = try pipeline.add { try Counters($0) }
        }
        let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(message.contains("had already been started"))
    }

    @Test func twoKindsCannotHaveTheSameID() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let pipeline = try CommitPipeline(engine: MemoryEngine(), now: ManualClock().timestamp)
            _ = try pipeline.add { try Counters($0) }
            _ = try pipeline.add { try Counters($0) }
        }
        let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(message.contains("have the id 1"))
    }

    @Test func theCheckCoversTheKindsRowsAndTheCommonOnes() async throws {
        let engine = MemoryEngine()
        try await withPipeline(engine) { pipeline, counters in
            for name in ["a", "b", "b"] { _ = await pipeline.commit { Commit([CountUp(name, counters)]) } }
            func check() throws -> (CommitCheckResult, [String]) {
                var problems: [String] = []
                let result = try pipeline.check(report: { problems.append($0) }, progress: { _ in })
                return (result, problems)
            }
            let (sound, none) = try check()
            #expect(none == [])
            #expect(sound.changes == 3)
            #expect(sound.deliveries == 3)
            #expect(sound.kinds.first as? Int == 2)
            try engine.write { storage in
                try storage.put(.meta, Counters.key("b"), [1, 2])
                var row: [UInt8] = []
                try storage.scanKeys(.changes, .all, reverse: true) { key in
                    row = key
                    return false
                }
                try storage.put(.changes, row.prefix(8) + [0, 77, 1] + [0, 0, 0, 0], [])
                try storage.put(.changes, [1, 2, 3], [])
                try storage.put(.completions, [1, 5], [1])
            }
            let (damaged, problems) = try check()
            #expect(problems.contains("the counter b has 2 bytes"))
            #expect(problems.contains { $0.contains("a key of the change log is too short") })
            #expect(problems.contains { $0.contains("no data has the kind 77") })
            #expect(problems.contains { $0.contains("a kept answer can't be read") })
            #expect(damaged.problems == problems.count)
        }
    }

    /// A listener that is notified after the answer would let a caller see an older state.
    @Test func kindsAreNotifiedBeforeTheCommitIsAnswered() async throws {
        try await withPipeline(MemoryEngine()) { pipeline, counters in
            let notified = await withCheckedContinuation { continuation in
                let job = CountJob(counters: counters) { continuation.resume(returning: $0) }
                if !pipeline.submit(job) { job.fail(CommitPipeline.shutDown) }
            }
            #expect(notified)
        }
    }
}

/// Answers whether the kind had been notified of its commit when it was answered.
private struct CountJob: CommitJob {
    let counters: Counters
    let completion: @Sendable (Bool) -> Void

    func run(in batch: CommitBatch) throws {
        let before = counters.notifications.count
        _ = try batch.run(Commit([CountUp("a", counters)]))
        batch.whenDurable { _ in completion(counters.notifications.count == before + 1) }
    }

    func fail(_ error: DocumentError) { completion(false) }
}
