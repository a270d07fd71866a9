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

    private func make() throws -> (DocumentStore, CommitWriter) {
        let store = try DocumentStore(engine: engine, now: clock.timestamp, elapsed: clock.elapsed)
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
}
