@testable import CommitPipeline
import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import Synchronization
import TestSupport
import Testing

struct RetryTests {
    private let path: DocumentPath

    init() throws { path = try DocumentPath("hot/counter") }

    private func write(_ n: Int64) -> Write { Write(path: path, operation: .set(["n": .integer(n)])) }

    /// A transaction that has read the counter and lost.
    private func loser(
        _ test: TestStore, _ context: OperationContext = OperationContext()
    ) async throws -> TransactionID {
        let id = try await test.begin(context: context)
        _ = try await test.get(path.string, in: id, context: context)
        let n = try await test.get(path.string)?.fields["n"]
        guard case .integer(let n)? = n else { throw DocumentError(.internal, "no counter") }
        try await test.commit([write(n + 1)])
        let error = await refusal { try await test.commit([write(0)], in: id, context: context) }
        #expect(error?.code == .aborted)
        return id
    }

    private func again(
        _ test: TestStore, _ id: TransactionID, _ context: OperationContext = OperationContext()
    ) async throws -> (TransactionID, [TransactionRead]) {
        try await test.store.begin(.readWrite(retrying: id), in: context).transaction
    }

    /// Adds one to the counter, as often as it takes, and answers how often that was.
    private func increment(_ test: TestStore) async throws -> Int {
        var retrying: TransactionID?
        for attempt in 1...1000 {
            let (id, reads) = try await test.store.begin(.readWrite(retrying: retrying)).transaction
            retrying = id
            let document: Document?
            if case .document(_, let found)? = reads.first {
                document = found
            } else {
                document = try await test.get(path.string, in: id)
            }
            guard case .integer(let n)? = document?.fields["n"] else { throw DocumentError(.dataLoss, "no counter") }
            let error = await refusal { try await test.commit([write(n + 1)], in: id) }
            guard let error else { return attempt }
            #expect(error.code == .aborted)
        }
        throw DocumentError(.aborted, "never got through")
    }

    @Test(arguments: EngineKind.allCases)
    func sixtyFourClientsOnOneCounterAllProgress(kind: EngineKind) async throws {
        try await withStore(kind) { test in
            try await test.set(path.string, ["n": .integer(0)])
            let (clients, rounds) = (64, 10)
            var attempts: [Int] = []
            try await withThrowingTaskGroup(of: [Int].self) { group in
                for _ in 0..<clients {
                    group.addTask {
                        var attempts: [Int] = []
                        for _ in 0..<rounds { attempts.append(try await increment(test)) }
                        return attempts
                    }
                }
                for try await clientAttempts in group { attempts += clientAttempts }
            }
            #expect(try await test.get(path.string)?.fields["n"] == .integer(Int64(clients * rounds)))
            #expect(attempts.reduce(0, +) <= clients * rounds * 3)
            #expect(try #require(attempts.max()) <= 3)
        }
    }

    @Test func aSecondTryGetsWhatItReadAndOthersWait() async throws {
        try await withStore { test in
            try await test.set(path.string, ["n": .integer(0)])
            let first = try await loser(test)
            let second = try await loser(test)
            let (turn, reads) = try await again(test, first)
            guard case .document(path, let document?)? = reads.first else { throw DocumentError(.unknown, "\(reads)") }
            #expect(document.fields["n"] == .integer(2))
            // Another transaction that read it may not take it away.
            let third = try await test.begin()
            _ = try await test.get(path.string, in: third)
            #expect(await refusal { try await test.commit([write(50)], in: third) }?.code == .aborted)
            async let waiting = again(test, second)
            try await test.commit([write(3)], in: turn)
            let (next, _) = try await waiting
            try await test.commit([write(4)], in: next)
            #expect(try await test.get(path.string)?.fields["n"] == .integer(4))
        }
    }

    @Test func blindWritesPassAndTheHolderKeepsItsPlace() async throws {
        try await withStore { test in
            try await test.set(path.string, ["n": .integer(0)])
            let first = try await loser(test)
            let second = try await loser(test)
            let (turn, _) = try await again(test, first)
            try await test.commit([write(10)])
            #expect(await refusal { try await test.commit([write(3)], in: turn) }?.code == .aborted)
            async let waiting = again(test, second)
            let (turnAgain, reads) = try await again(test, turn)
            guard case .document(_, let document?)? = reads.first else { throw DocumentError(.unknown, "\(reads)") }
            #expect(document.fields["n"] == .integer(10))
            try await test.commit([write(11)], in: turnAgain)
            let (next, _) = try await waiting
            #expect(try await test.store.rollback(next) == .rolledBack)
        }
    }

    @Test func aTurnEndsWithItsOwner() async throws {
        try await withStore { test in
            try await test.set(path.string, ["n": .integer(0)])
            let dying = OperationContext(owner: 7)
            let first = try await loser(test, dying)
            let second = try await loser(test)
            _ = try await again(test, first, dying)
            async let waiting = again(test, second)
            test.store.release(owner: 7)
            let (next, _) = try await waiting
            try await test.commit([write(9)], in: next)
        }
    }

    /// Such as a server with the Admin SDK that is killed: none of its transactions has an owner to be released.
    @Test func aRetryWhoseCallerHasLeftTakesNoTurn() async throws {
        try await withStore { test in
            try await test.set(path.string, ["n": .integer(0)])
            let losers = [try await loser(test), try await loser(test), try await loser(test)]
            let (turn, _) = try await again(test, losers[0])
            let leaving = OperationContext(cancellation: OperationCancellation())
            let gone = Mutex<Result<BeginAnswer, DocumentError>?>(nil)
            let next = Mutex<Result<BeginAnswer, DocumentError>?>(nil)
            test.store.begin(.readWrite(retrying: losers[1]), in: leaving) { begun in
                gone.withLock { $0 = begun }
            }
            test.store.begin(.readWrite(retrying: losers[2]), in: OperationContext()) { begun in
                next.withLock { $0 = begun }
            }
            leaving.cancellation?.cancel()
            try await test.commit([write(9)], in: turn)
            // The writer does this after the begins.
            try await test.set("a/b", [:])
            #expect(gone.withLock { $0 } == .failure(DocumentError.callerLeft))
            let id = try #require(try next.withLock { try $0?.get() }).transaction.0
            try await test.commit([write(10)], in: id)
        }
    }

    @Test func aTurnWhoseTransactionCouldNotBeginIsPassedOn() async throws {
        var configuration = TestStore.configuration
        configuration.maxTransactions = 2
        try await withStore(configuration: configuration) { test in
            try await test.set(path.string, ["n": .integer(0)])
            let first = try await loser(test)
            let second = try await loser(test)
            let others = [try await test.begin(), try await test.begin()]
            #expect(await refusal { _ = try await again(test, first) }?.code == .resourceExhausted)
            for other in others { #expect(try await test.store.rollback(other) == .rolledBack) }
            let answer = Mutex<Result<BeginAnswer, DocumentError>?>(nil)
            test.store.begin(.readWrite(retrying: second), in: OperationContext()) { begun in
                answer.withLock { $0 = begun }
            }
            // The writer does this after the begin.
            try await test.set("a/b", [:])
            let id = try #require(try answer.withLock { try $0?.get() }).transaction.0
            try await test.commit([write(9)], in: id)
        }
    }

    @Test func aTurnEndsWithItsTime() async throws {
        try await withStore { test in
            try await test.set(path.string, ["n": .integer(0)])
            let first = try await loser(test)
            let second = try await loser(test)
            let (slow, _) = try await again(test, first)
            test.clock.advance(seconds: 3)
            let (next, _) = try await again(test, second)
            try await test.commit([write(9)], in: next)
            #expect(await refusal { try await test.commit([write(3)], in: slow) }?.code == .aborted)
        }
    }

    @Test func aQueryIsUnderATurnToo() async throws {
        try await withStore { test in
            let query = Query(collectionID: "hot")
            let id = try await test.begin()
            _ = try await test.query(query, in: id)
            try await test.set("hot/a", [:])
            #expect(await refusal { try await test.set("x/y", [:], in: id) }?.code == .aborted)
            let (turn, reads) = try await again(test, id)
            guard case .query(query, let found)? = reads.first else { throw DocumentError(.unknown, "\(reads)") }
            #expect(found.map(\.path.id) == ["a"])
            let other = try await test.begin()
            _ = try await test.query(query, in: other)
            #expect(await refusal { try await test.set("hot/b", [:], in: other) }?.code == .aborted)
            try await test.set("x/y", [:], in: turn)
        }
    }

    /// SDKs roll back after a commit that failed: an error of the rollback would hide the commit's.
    @Test func aRollbackSucceedsHoweverTheTransactionHasEnded() async throws {
        let test = try TestStore()
        try await test.set(path.string, ["n": .integer(0)])
        let committed = try await test.begin()
        try await test.commit([write(1)], in: committed)
        let aborted = try await loser(test)
        let refused = try await test.begin()
        #expect(await creationError(test, in: refused)?.code == .alreadyExists)
        let rolledBack = try await test.begin()
        #expect(await rollbackError(test, rolledBack) == nil)
        let expired = try await test.begin()
        test.clock.advance(seconds: 61)
        for id in [committed, aborted, refused, rolledBack, expired] {
            for _ in 0..<2 { #expect(await rollbackError(test, id) == nil) }
        }
        #expect(await rollbackError(test, TransactionID(rawValue: 1))?.code == .invalidArgument)
        #expect(await rollbackError(test, committed, OperationContext(owner: 7))?.code == .invalidArgument)
        await test.store.shutdown()
    }

    private func creationError(_ test: TestStore, in id: TransactionID) async -> DocumentError? {
        let creation = Write(path: path, operation: .set([:]), precondition: .exists(false))
        return await refusal { try await test.commit([creation], in: id) }
    }

    private func rollbackError(
        _ test: TestStore, _ id: TransactionID, _ context: OperationContext = OperationContext()
    ) async -> DocumentError? {
        await refusal {
            let answer = try await test.store.rollback(id, in: context)
            #expect(answer == .rolledBack)
        }
    }

    @Test func waitersAreRefusedAtShutdown() async throws {
        let test = try TestStore()
        try await test.set(path.string, ["n": .integer(0)])
        let first = try await loser(test)
        let second = try await loser(test)
        _ = try await again(test, first)
        let answer = Mutex<Result<BeginAnswer, DocumentError>?>(nil)
        test.store.begin(.readWrite(retrying: second), in: OperationContext()) { begun in
            answer.withLock { $0 = begun }
        }
        await test.store.shutdown()
        #expect(answer.withLock { $0 } == .failure(CommitPipeline.shutDown))
    }
}
