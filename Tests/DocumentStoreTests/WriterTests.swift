import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import Foundation
import Synchronization
import TestSupport
import Testing

/// The writer, turn by turn, in the place of its thread.
struct WriterTests {
    private let clock = ManualClock()
    private let engine = MemoryEngine()

    private func make(_ configuration: StoreConfiguration = StoreConfiguration()) throws -> (DocumentStore, StoreWriter)
    {
        let store = try DocumentStore(
            engine: engine, now: clock.timestamp, elapsed: clock.elapsed, configuration: configuration)
        let writer = try engine.write { storage in
            StoreWriter(
                store: store, version: try StoreVersion.read(storage),
                history: try #require(try HistoryBounds.read(storage)),
                indexes: try IndexMaintenance(storage, onEvent: nil))
        }
        return (store, writer)
    }

    private func logBytes() throws -> Int {
        try engine.makeReadSession().read { storage in try #require(try HistoryBounds.read(storage)).bytes }
    }

    @Test func transactionsEndThoughNothingIsWritten() throws {
        let (store, writer) = try make()
        #expect(writer.timeout <= .seconds(10))
        _ = try store.transactions.withLock { table throws(DocumentError) in
            try table.begin(isReadOnly: false, context: OperationContext(), at: clock.elapsed())
        }
        clock.advance(seconds: 62)
        writer.group([])
        #expect(store.transactions.withLock { $0.openCount } == 0)
    }

    /// On the writer's thread they would hold up everyone's commits.
    @Test func readsOfAStateToComeAreDoneByReaders() throws {
        let (store, writer) = try make()
        let version = clock.timestamp().microseconds + 5
        let id = try store.transactions.withLock { table throws(DocumentError) in
            let id = try table.begin(isReadOnly: false, context: OperationContext(), at: clock.elapsed())
            table.prefetched(id, ReadSet(), version: version)
            return id
        }
        let answers = Atomic<Int>(0)
        let get = StoreOperation(
            request: .get([try DocumentPath("a/b")], .transaction(id)), context: OperationContext()
        ) { _ in answers.add(1, ordering: .relaxed) }
        writer.group([.operation(get)])
        #expect(answers.load(ordering: .relaxed) == 0)
        #expect(!store.reads.isEmpty)
    }

    @Test func anIdleStoreTrimsItsLog() throws {
        try engine.write { storage in
            var bounds = HistoryBounds(floor: 0, bytes: 0)
            for version in 1...300 as ClosedRange<Int64> {
                bounds.bytes += try ChangeLog.append(
                    version: version, documentKey: [9], before: nil, after: [1, 2, 3], to: storage)
            }
            try bounds.write(to: storage)
            try StoreVersion.write(1000, generation: 0, to: storage)
        }
        var configuration = StoreConfiguration()
        configuration.maxHistoryBytes = try logBytes() / 10
        let (_, writer) = try make(configuration)
        var turns = 0
        repeat {
            writer.group([])
            turns += 1
        } while writer.timeout < .seconds(1) && turns < 100
        #expect(try logBytes() <= configuration.maxHistoryBytes)
        #expect(turns > 1)
    }

    /// Few large changes that come in drive out many small ones.
    @Test func theLogShrinksByBytesAndNotByRows() throws {
        try engine.write { storage in
            var bounds = HistoryBounds(floor: 0, bytes: 0)
            for version in 1...1000 as ClosedRange<Int64> {
                bounds.bytes += try ChangeLog.append(
                    version: version, documentKey: [9], before: nil, after: [1, 2, 3], to: storage)
            }
            let (all, row) = (bounds.bytes, bounds.bytes / 1000)
            #expect(try bounds.trim(upTo: 0, spared: 1000, maxBytes: 0, atMost: 2, orBytes: row * 500, in: storage))
            #expect(bounds.bytes == all - row * 500)
            #expect(try bounds.trim(upTo: 0, spared: 1000, maxBytes: 0, atMost: 20, orBytes: row, in: storage))
            #expect(bounds.bytes == all - row * 520)
            #expect(try !bounds.trim(upTo: 0, spared: 1000, maxBytes: 0, atMost: 480, orBytes: 0, in: storage))
            #expect(bounds.bytes == 0)
        }
    }
}

struct ReaderTests {
    /// Both wait when a reader comes, and the first ends only after the second.
    @Test func aSlowReadHoldsUpNobodyBehindIt() async throws {
        let store = try DocumentStore(engine: MemoryEngine(), now: ManualClock().timestamp)
        let second = DispatchSemaphore(value: 0)
        let isInTime = Atomic(false)
        _ = store.reads.put(
            .view { _ in
                isInTime.store(second.wait(timeout: .now() + 20) == .success, ordering: .sequentiallyConsistent)
            })
        _ = store.reads.put(.view { _ in second.signal() })
        try store.start()
        await store.shutdown()
        #expect(isInTime.load(ordering: .sequentiallyConsistent) == true)
    }

    /// Who came after a snapshot was taken may know of more than it holds.
    @Test func onlyWhoWaitedThenSharesASnapshot() throws {
        let queue = JobQueue<Int>()
        for n in 0..<3 { #expect(queue.put(n)) }
        let (first, end) = try #require(queue.takeFirst())
        #expect(queue.put(3))
        #expect(first == 0)
        #expect(queue.takeNext(before: end) == 1)
        #expect(queue.takeNext(before: end) == 2)
        #expect(queue.takeNext(before: end) == nil)
        #expect(queue.take() == [3])
        queue.close()
        #expect(queue.takeFirst()?.job == nil)
    }
}
