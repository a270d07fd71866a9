import TestSupport
@testable import CommitPipeline
import DocumentModel
import Foundation
import StorageEngine
import StoreTestSupport
import Synchronization
import Testing

private struct ClosureRead: SnapshotJob {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func run(on snapshot: Snapshot) { body() }
    func fail(_ error: DocumentError) {}
}

struct ReaderTests {
    /// Both wait when a reader comes, and the first ends only after the second.
    @Test(.endsHangs) func aSlowReadHoldsUpNobodyBehindIt() async throws {
        let pipeline = try CommitPipeline(engine: MemoryEngine(), now: ManualClock().timestamp)
        let second = DispatchSemaphore(value: 0)
        let isInTime = Atomic(false)
        pipeline.read(
            ClosureRead {
                isInTime.store(second.wait(timeout: .now() + 36_000) == .success, ordering: .sequentiallyConsistent)
            })
        pipeline.read(ClosureRead { second.signal() })
        try pipeline.start()
        await pipeline.shutdown()
        #expect(isInTime.load(ordering: .sequentiallyConsistent) == true)
    }

    private struct Numbered: SnapshotJob {
        let number: Int

        func run(on snapshot: Snapshot) {}
        func fail(_ error: DocumentError) {}
    }

    private func numbers(_ reads: ShortReads, before end: Int) -> [Int] {
        var numbers: [Int] = []
        while let next = reads.takeNext(before: end) as? Numbered { numbers.append(next.number) }
        return numbers
    }

    /// Who came after a snapshot was taken may know of more than it holds.
    @Test func onlyWhoWaitedThenSharesASnapshot() throws {
        let reads = ShortReads(places: 10)
        for number in 0..<3 { #expect(reads.put(Numbered(number: number), of: nil, limit: .max)) }
        let (first, end) = try #require(reads.takeFirst())
        #expect(reads.put(Numbered(number: 3), of: nil, limit: .max))
        #expect((first as? Numbered)?.number == 0)
        #expect(numbers(reads, before: end) == [1, 2])
        #expect(numbers(reads, before: .max) == [3])
        reads.close()
        #expect(reads.takeFirst()?.job == nil)
        #expect(!reads.put(Numbered(number: 4), of: nil, limit: .max))
    }

    /// So do several reads of one caller, until another waits.
    @Test func aCallersReadsShareASnapshotWhileNoOtherWaits() throws {
        let reads = CallerReads(places: 100, threads: 2, maxRunning: 1)
        func put(_ number: Int, of caller: UInt64) { #expect(reads.put(Numbered(number: number), of: .client(caller))) }
        func next(of caller: UInt64, before end: Int) -> Int? {
            (reads.takeNext(of: .client(caller), before: end) as? Numbered)?.number
        }
        for number in 0..<3 { put(number, of: 1) }
        let first = try #require(reads.take(after: nil))
        #expect((first.job as? Numbered)?.number == 0)
        put(3, of: 1)
        #expect(next(of: 1, before: first.end) == 1)
        put(10, of: 2)
        #expect(next(of: 1, before: first.end) == nil)
        // The first caller has as many running as it may have.
        let second = try #require(reads.take(after: nil))
        #expect(second.caller == .client(2))
        #expect(next(of: 1, before: first.end) == 2)
        // This one came after the state was taken.
        #expect(next(of: 1, before: first.end) == nil)
        #expect(next(of: 2, before: .max) == nil)
        let third = try #require(reads.take(after: first.caller))
        #expect((third.job as? Numbered)?.number == 3)
        reads.close()
        #expect(reads.take(after: third.caller) == nil)
    }

    /// Hundreds of one client's delay another's, and a function's, by one.
    @Test func clientsAndFunctionsTakeTurns() throws {
        let reads = ShortReads(places: 100)
        for number in 0..<20 { #expect(reads.put(Numbered(number: number), of: 1, limit: .max)) }
        for number in 100..<103 { #expect(reads.put(Numbered(number: number), of: nil, limit: 3)) }
        #expect(!reads.put(Numbered(number: 103), of: nil, limit: 3))
        for number in 200..<202 { #expect(reads.put(Numbered(number: number), of: 2, limit: .max)) }
        #expect(numbers(reads, before: .max) == [100, 0, 101, 200, 102, 1, 201] + Array(2..<20))
        // One client takes half of the places at most.
        for _ in 0..<50 { #expect(reads.put(Numbered(number: 0), of: 1, limit: .max)) }
        #expect(!reads.put(Numbered(number: 0), of: 1, limit: .max))
        #expect(reads.put(Numbered(number: 0), of: 2, limit: .max))
    }

    @Test func positionsStayWhileOthersLeave() {
        var queue = IndexedQueue<Int>()
        for n in 0..<1000 {
            queue.append(n)
            if n >= 10 { #expect(queue.popFirst() == n - 10) }
            #expect(queue[n] == n)
            #expect(queue[n - 10] == nil)
            #expect(queue.positions == max(0, n - 9)..<n + 1)
        }
        #expect(queue.firstPosition { $0 >= 995 } == 995)
        #expect(queue.popLast() == 999)
        #expect(queue.count == 9)
        #expect(queue.last == 998)
        while queue.popFirst() != nil {}
        #expect(queue.last == nil)
    }

    private struct RefusedRead: SnapshotJob {
        let errors: ErrorLog

        func run(on snapshot: Snapshot) {}
        func fail(_ error: DocumentError) { errors.all.withLock { $0.append(error) } }
    }

    private final class ErrorLog: Sendable {
        let all = Mutex<[DocumentError]>([])
    }

    @Test func aFullQueueIsToldApartFromAClosedOne() async throws {
        var configuration = CommitConfiguration()
        configuration.maxCallerReads = 1
        let pipeline = try CommitPipeline(
            engine: MemoryEngine(), now: ManualClock().timestamp, configuration: configuration)
        let errors = ErrorLog()
        let callers: [ReadCaller] = [.client(1), .clientCommit(1), .maintenance]
        for caller in callers { pipeline.read(RefusedRead(errors: errors), of: caller) }
        pipeline.read(RefusedRead(errors: errors), limit: 1)
        #expect(errors.all.withLock { $0.isEmpty })
        for caller in callers { pipeline.read(RefusedRead(errors: errors), of: caller) }
        pipeline.read(RefusedRead(errors: errors), limit: 1)
        #expect(errors.all.withLock { $0 } == Array(repeating: CommitPipeline.overloaded, count: 4))
        await #expect(throws: CommitPipeline.overloaded) { try await pipeline.outbox.counts() }
        await pipeline.shutdown()
        pipeline.read(RefusedRead(errors: errors), of: .maintenance)
        pipeline.read(RefusedRead(errors: errors))
        #expect(errors.all.withLock { $0.suffix(2) } == [CommitPipeline.shutDown, CommitPipeline.shutDown])
        await #expect(throws: CommitPipeline.shutDown) { try await pipeline.outbox.counts() }
    }
}
