import CommitPipeline
import DocumentModel
import RealtimeHashing
import RealtimeModel
import RealtimeStore
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

@testable import RealtimeStore

/// Clients that retry conditional writes of one path.
struct StaleTurnsTests {
    private static let place = StaleTurns.Place(namespace: "n", target: RealtimeTarget(.root))

    @Test func oneClientAtATimeRetries() {
        var turns = StaleTurns(limit: .seconds(1))
        let answered = SharedList<UInt64>()
        func decided(_ client: UInt64, isStale: Bool, at now: Duration = .zero) {
            let due = turns.decided(
                [Self.place], stale: isStale ? Self.place : nil, of: RetryingClient(.invocation(client)), at: now
            ) { answered.append(client) }
            for answer in due { answer() }
        }
        for client in 1...3 as ClosedRange<UInt64> { decided(client, isStale: true) }
        #expect(answered.all == [1])
        // Another one was faster: the turn goes on, and that one waits.
        decided(9, isStale: false)
        #expect(answered.all == [1])
        decided(1, isStale: true)
        #expect(answered.all == [1, 1])
        decided(1, isStale: false)
        #expect(answered.all == [1, 1, 2, 9, 1])
        decided(9, isStale: false)
        for answer in turns.expire(at: .milliseconds(999)) { answer() }
        #expect(answered.all.count == 5)
        for answer in turns.expire(at: .seconds(1)) { answer() }
        #expect(answered.all == [1, 1, 2, 9, 1, 3, 9])
        decided(3, isStale: false)
        #expect(turns.nextDeadline == nil)
        decided(4, isStale: true)
        #expect(answered.all.last == 4)
    }

    /// What it is sent before its answer must be the state with its own write.
    @Test func aConnectionThatWasFasterIsAnsweredAtOnceAndWritesAgainAfterTheTurn() {
        var turns = StaleTurns(limit: .seconds(1))
        let log = SharedList<String>()
        func decided(_ client: UInt64, isStale: Bool) {
            let due = turns.decided(
                [Self.place], stale: isStale ? Self.place : nil, of: RetryingClient(.connection(client)), at: .zero
            ) { log.append("answer \(client)") }
            for answer in due { answer() }
        }
        func admit(_ client: UInt64) {
            turns.admit(.connection(client), to: Self.place) { log.append("write \(client)") }?()
        }
        admit(9)
        #expect(log.all == ["write 9"])
        for client in 1...2 as ClosedRange<UInt64> { decided(client, isStale: true) }
        #expect(log.all == ["write 9", "answer 1"])
        decided(9, isStale: false)
        #expect(log.all.last == "answer 9")
        admit(9)
        admit(8)
        admit(1)
        #expect(log.all.suffix(2) == ["write 8", "write 1"])
        decided(1, isStale: false)
        #expect(log.all.suffix(3) == ["answer 2", "write 9", "answer 1"])
        // In the next turn it may write again, once.
        admit(9)
        decided(9, isStale: false)
        admit(9)
        #expect(log.all.suffix(2) == ["write 9", "answer 9"])
        for proceed in turns.expire(at: .seconds(2)) { proceed() }
        #expect(log.all.last == "write 9")
        #expect(turns.isEmpty)
        // At the end none is kept.
        for client in 1...2 as ClosedRange<UInt64> { decided(client, isStale: true) }
        decided(9, isStale: false)
        admit(9)
        for answer in turns.removeAll() { answer() }
        #expect(log.all.suffix(2).sorted() == ["answer 2", "write 9"])
    }

    @Test func noClientKeepsItsTurn() {
        var turns = StaleTurns(limit: .seconds(1))
        let answered = SharedList<UInt64>()
        func decided(_ client: UInt64) {
            let due = turns.decided([Self.place], stale: Self.place, of: RetryingClient(.connection(client)), at: .zero)
            {
                answered.append(client)
            }
            for answer in due { answer() }
        }
        for client in [1, 2, 1] as [UInt64] { decided(client) }
        #expect(answered.all == [1, 1])
        decided(1)
        #expect(answered.all == [1, 1, 2, 1])
        decided(1)
        #expect(answered.all.count == 4)
    }

    @Test func aClientWithManyStaleWritesHasOneTurn() {
        var turns = StaleTurns(limit: .seconds(1))
        let answered = SharedList<UInt64>()
        func decided(_ client: UInt64, isStale: Bool) {
            let due = turns.decided(
                [Self.place], stale: isStale ? Self.place : nil, of: RetryingClient(.connection(client)), at: .zero
            ) {
                answered.append(client)
            }
            for answer in due { answer() }
        }
        for client in [1, 2, 2, 2, 3] as [UInt64] { decided(client, isStale: true) }
        decided(1, isStale: false)
        #expect(answered.all == [1, 2, 2, 2, 1])
        decided(2, isStale: false)
        #expect(answered.all == [1, 2, 2, 2, 1, 3, 2])
    }

    /// Its turn would keep all others waiting.
    @Test func whoHasLeftGetsNoTurn() {
        var turns = StaleTurns(limit: .seconds(1))
        let (answered, left) = (SharedList<UInt64>(), SharedList<UInt64>())
        func decided(_ client: UInt64, isStale: Bool) {
            let retrying = RetryingClient(.connection(client)) { left.all.contains(client) }
            let due = turns.decided([Self.place], stale: isStale ? Self.place : nil, of: retrying, at: .zero) {
                answered.append(client)
            }
            for answer in due { answer() }
        }
        for client in 1...4 as ClosedRange<UInt64> { decided(client, isStale: true) }
        for client in [2, 3] as [UInt64] { left.append(client) }
        decided(1, isStale: false)
        // Each has its answer nevertheless: what waits for it goes on.
        #expect(answered.all == [1, 4, 2, 3, 1])
        decided(4, isStale: false)
        #expect(turns.isEmpty)
    }

    /// Transactions depend on several places, of which one may be hot.
    @Test func theTurnIsAtThePlaceThatWasStale() {
        var turns = StaleTurns(limit: .seconds(1))
        func place(_ key: String) -> StaleTurns.Place {
            let path = RealtimePath(unchecked: [RealtimeKey(unchecked: key)])
            return StaleTurns.Place(namespace: "n", target: RealtimeTarget(path))
        }
        let hot = place("hot")
        func own(_ client: UInt64) -> StaleTurns.Place { place("\(client)") }
        let answered = SharedList<UInt64>()
        func decided(_ client: UInt64, stale: StaleTurns.Place?) {
            let due = turns.decided(
                [own(client), hot], stale: stale, of: RetryingClient(.connection(client)), at: .zero
            ) {
                answered.append(client)
            }
            for answer in due { answer() }
        }
        for client in 1...3 as ClosedRange<UInt64> { decided(client, stale: hot) }
        #expect(answered.all == [1])
        decided(1, stale: nil)
        #expect(answered.all == [1, 2, 1])
        // Another place has changed: the turn at the hot one goes to the next.
        decided(2, stale: own(2))
        #expect(answered.all == [1, 2, 1, 3, 2])
        decided(3, stale: nil)
        decided(2, stale: nil)
        #expect(answered.all == [1, 2, 1, 3, 2, 3, 2])
        #expect(turns.nextDeadline == nil)
    }

    /// The writer's thread answers them, and the one whose turn it is has gone: the other one's begins nevertheless.
    @Test(.endsHangs) func aTurnOfClientsWithoutListenersEnds() async throws {
        let pipeline = try CommitPipeline(engine: MemoryEngine(), now: Timestamp.wallClock)
        let store = try RealtimeStore(on: pipeline)
        try pipeline.start()
        let target = RealtimeTarget(try RealtimePath("counter"))
        for client in 1...2 as ClosedRange<UInt64> {
            let write = RealtimeWrite.set(target, RealtimeWriteValue(RealtimeNode(1)), ifHash: "wrong")
            var commit = RealtimeCommit([write], in: RealtimeFixture.namespace)
            commit.client = RetryingClient(.connection(client))
            commit.isAnsweredAtOnce = { true }
            await #expect(throws: RealtimeFailure.stale) { try await store.commit(commit) }
        }
        await pipeline.shutdown()
    }

    @Test(.endsHangs) func manyClientsOfOneCounterNeedFewAttempts() async throws {
        let fixture = try RealtimeFixture(.sqlite)
        let target = RealtimeTarget(try RealtimePath("counter"))
        let attempts = SharedList<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<32 as Range<UInt64> {
                group.addTask {
                    for _ in 0..<10 {
                        var count = 0
                        var isDone = false
                        while !isDone {
                            count += 1
                            let node = try await fixture.read { try $0.node(at: target.path) }
                            guard case .number(let number) = node?.leaf ?? 0 else { return }
                            let value = RealtimeWriteValue(RealtimeNode(.number(number + 1)))
                            var commit = RealtimeCommit(
                                [.set(target, value, ifHash: node.hash)], in: RealtimeFixture.namespace)
                            commit.client = RetryingClient(.connection(client))
                            do {
                                try await fixture.store.commit(commit)
                                isDone = true
                            } catch let failure as RealtimeFailure where failure == .stale {}
                        }
                        attempts.append(count)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await fixture.json("counter") == "320")
        #expect(attempts.all.max() ?? 0 <= 25)
        try await fixture.close()
    }
}
