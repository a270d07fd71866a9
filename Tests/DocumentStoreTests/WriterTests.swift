import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import CommitPipeline
@testable import DocumentStore
import Synchronization
import TestSupport
import Testing

/// The writer, turn by turn, in the place of its thread.
struct WriterTests {
    private let clock = ManualClock()
    private let engine = MemoryEngine()

    private func make(_ commits: CommitConfiguration = CommitConfiguration()) throws -> (DocumentStore, CommitWriter) {
        let store = try DocumentStore(
            engine: engine, now: clock.timestamp, elapsed: clock.elapsed, commits: commits)
        return (store, try store.pipeline.makeWriter())
    }

    @Test func transactionsEndThoughNothingIsWritten() throws {
        let (store, writer) = try make()
        #expect(writer.pause <= .seconds(10))
        _ = try store.parts.transactions.withLock { table throws(DocumentError) in
            try table.begin(isReadOnly: false, context: OperationContext(), at: clock.elapsed())
        }
        clock.advance(seconds: 62)
        writer.runBatch([])
        #expect(store.parts.transactions.withLock { $0.openCount } == 0)
    }

    /// On the writer's thread they would hold up everyone's commits.
    @Test func readsOfAStateToComeAreDoneByReaders() throws {
        let (store, writer) = try make()
        let version = clock.timestamp().microseconds + 5
        let id = try store.parts.transactions.withLock { table throws(DocumentError) in
            let id = try table.begin(isReadOnly: false, context: OperationContext(), at: clock.elapsed())
            table.prefetched(id, ReadSet(), version: version)
            return id
        }
        let answers = Atomic<Int>(0)
        let get = GetRead(
            store: store, paths: [try DocumentPath("a/b")], consistency: .transaction(id), context: OperationContext()
        ) { _ in answers.add(1, ordering: .relaxed) }
        writer.runBatch([LaterRead(read: get)])
        #expect(answers.load(ordering: .relaxed) == 0)
        #expect(!store.pipeline.reads.short.isEmpty)
    }

    /// A function's transaction may read thousands of documents, one of which is hot.
    @Test(arguments: [20, 21]) func turnsOnManyDocumentsAreReadByReaders(count: Int) throws {
        let (store, writer) = try make()
        let paths = try (0..<count).map { try DocumentPath("hot/d\($0)") }
        let context = OperationContext()
        let id = try store.parts.transactions.withLock { table throws(DocumentError) in
            try table.begin(isReadOnly: false, context: context, at: clock.elapsed())
        }
        let answers = Atomic<Int>(0)
        let get = GetRead(store: store, paths: paths, consistency: .transaction(id), context: context) { _ in
            answers.add(1, ordering: .relaxed)
        }
        writer.runBatch([TurnRead(read: get, transaction: id, hot: [paths[0]])])
        #expect(answers.load(ordering: .relaxed) == (count == 20 ? 1 : 0))
        #expect(store.pipeline.reads.short.isEmpty == (count == 20))
        #expect(store.writer.isAwaited(id))
    }

    @Test(arguments: [true, false])
    func jobsThatComeMeanwhileShareTheSyncForAWhile(isWithinLimit: Bool) throws {
        var commits = CommitConfiguration()
        commits.joinLimit = isWithinLimit ? .seconds(1000) : .zero
        let store = try DocumentStore(
            engine: engine, now: clock.timestamp, elapsed: clock.elapsed, commits: commits)
        let pipeline = store.pipeline
        let durable = Atomic<Int>(0)
        let second = Job { batch in batch.whenDurable { _ in durable.add(1, ordering: .relaxed) } }
        let first = Job { batch in
            batch.whenDurable { _ in durable.add(1, ordering: .relaxed) }
            _ = pipeline.submit(second, limit: .max)
        }
        try pipeline.makeWriter().runBatch([first])
        #expect(durable.load(ordering: .relaxed) == (isWithinLimit ? 2 : 1))
        #expect(pipeline.jobs.isEmpty == isWithinLimit)
        pipeline.jobs.close()
    }

    /// Each change of a document that many wait for takes a way to a function and back, which is not made longer by others.
    @Test func jobsForWhichOthersWaitComeFirst() throws {
        var commits = CommitConfiguration()
        (commits.joinLimit, commits.groupLimit) = (.seconds(1000), .seconds(1000))
        let (store, writer) = try make(commits)
        let path = try DocumentPath("hot/counter")
        let context = OperationContext()
        let steps = Mutex([String]())
        let note = { @Sendable (step: String) in steps.withLock { $0.append(step) } }
        let ids = try (0..<2).map { _ in
            try store.parts.transactions.withLock { table throws(DocumentError) in
                try table.begin(isReadOnly: false, context: context, at: clock.elapsed())
            }
        }
        let reads = ids.enumerated().map { number, id in
            let read = GetRead(store: store, paths: [path], consistency: .transaction(id), context: context) { _ in
                note("read \(number)")
            }
            return TurnRead(read: read, transaction: id, hot: [path])
        }
        writer.runBatch(reads)
        #expect(steps.withLock { $0 } == ["read 0"])
        let ends = ids.enumerated().map { number, id in
            Rollback(store: store, transaction: id, context: context) { _ in note("end \(number)") }
        }
        let pipeline = store.pipeline
        // The second comes while jobs run.
        let other = Job { _ in
            note("other")
            _ = pipeline.submit(ends[1])
        }
        writer.runBatch([other, Job { _ in note("another") }, ends[0]])
        #expect(steps.withLock { $0 } == ["read 0", "end 0", "read 1", "other", "end 1", "another"])
        pipeline.jobs.close()
    }

    /// Readers have no state of the open batch: what is read there would be that before the transaction ahead.
    @Test(arguments: [true, false])
    func aRetryThatReadsByItselfBeginsOnceReadersSeeWhatItWaitedFor(isOfClientLibrary: Bool) throws {
        let (store, writer) = try make()
        let path = try DocumentPath("hot/counter")
        var context = OperationContext()
        context.retriesCommitsOnly = isOfClientLibrary
        let committed = Mutex<Int64?>(nil)
        let note: DocumentStore.Completion<CommitAnswer> = { answer in
            guard case .success(.committed(let result)) = answer else { return }
            committed.withLock { $0 = result.commitTime.microseconds }
        }
        func commit(_ n: Int64, in transaction: TransactionID? = nil) -> WriteCommit {
            let write = Write(path: path, operation: .set(["n": .integer(n)]))
            return WriteCommit(
                store: store, writes: [write], transaction: transaction, completing: nil, effects: [], context: context,
                completion: note)
        }
        let opened = store.pipeline.openedVersion
        let lost = try store.parts.transactions.withLock { table throws(DocumentError) in
            let id = try table.begin(isReadOnly: false, context: context, at: clock.elapsed())
            _ = try table.read(
                id, owner: nil, ReadSet(documents: [path]), snapshot: opened, at: clock.elapsed())
            return id
        }
        writer.runBatch([commit(1), commit(9, in: lost)])
        if !isOfClientLibrary { context.answer = NoRoom() }
        let seen = Mutex<Int64?>(nil)
        let retry = RetryBegin(store: store, retried: lost, context: context) { [engine] answer in
            guard case .success(.began) = answer else { return }
            let version = try? engine.makeReadSession().read { try StoreVersion.read($0) }
            seen.withLock { $0 = version }
        }
        writer.runBatch([commit(2), retry])
        let version = try #require(committed.withLock { $0 })
        #expect(version > opened)
        #expect(seen.withLock { $0 } == version)
    }

    /// Has no place for what a transaction had read.
    private final class NoRoom: AnswerBytes {
        func take(_ bytes: Int) throws(DocumentError) { throw DocumentError(.resourceExhausted, "there is no room") }
    }

    private struct Job: CommitJob {
        let body: @Sendable (CommitBatch) -> Void

        func run(in batch: CommitBatch) { body(batch) }

        func fail(_ error: DocumentError) {}
    }
}
