import DocumentModel
import FunctionManifest
import WorkerProtocol
@testable import Workers
import NIOCore
import Synchronization
import Testing
import WorkerTesting

struct InvocationTests {
    private static let transaction = TransactionID(rawValue: 7)

    private static func budget(_ invocations: Int) -> FunctionBudget {
        var budget = FunctionBudget()
        budget.invocationsPerDay = invocations
        return budget
    }

    // MARK: Its end

    @Test func aResultAnswersEndsAndFreesThePlace() throws {
        let ring = InvocationRing()
        let first = try ring.admit()
        let second = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        let ids = worker.takeInvocations()
        #expect(ids.count == 1)
        worker.send(.result, ids[0]) { $0.writeString("1") }
        ring.run()
        #expect(first.heard == ["started", "answered 1", "ended 1"])
        #expect(second.heard == ["started"])
        worker.send(.failure, try #require(worker.takeInvocations().first)) {
            InvocationFailure(code: .internal, message: "it broke").write(to: &$0)
        }
        ring.run()
        #expect(second.heard == ["started", "answered it broke", "ended it broke"])
        #expect(!ring.loop.isBusy)
    }

    @Test func atTheDeadlineTheAnswerComesBeforeTheEnd() throws {
        let ring = InvocationRing(timeoutSeconds: 1)
        let client = try ring.admit()
        ring.advance(.milliseconds(1050))
        #expect(client.heard == ["started", "answered DEADLINE_EXCEEDED"])
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        #expect(worker.frames.last?.kind == .cancel)
        worker.send(.result, id) { $0.writeString("late") }
        #expect(client.heard == ["started", "answered DEADLINE_EXCEEDED", "ended late"])
    }

    /// Its request may be large, and is no longer counted once it is answered.
    @Test func anInvocationLetsGoOfItsClientOnceItIsAnswered() throws {
        let ring = InvocationRing(timeoutSeconds: 1)
        var client: PlayedClient? = try ring.admit()
        let log = try #require(client).log
        weak let held = client
        client = nil
        #expect(held != nil)
        ring.advance(.milliseconds(1050))
        #expect(held == nil)
        // It learns of the handler's end all the same.
        let worker = try #require(ring.processes.workers.first)
        worker.send(.result, try #require(worker.takeInvocations().first)) { $0.writeString("late") }
        #expect(log.entries == ["started", "answered DEADLINE_EXCEEDED", "ended late"])
    }

    @Test func whoDoesNotStopEndsWithItsProcess() throws {
        let ring = InvocationRing(timeoutSeconds: 1)
        let client = try ring.admit()
        ring.advance(.milliseconds(2900))
        #expect(client.heard == ["started", "answered DEADLINE_EXCEEDED"])
        ring.advance(.milliseconds(300))
        #expect(client.heard.last == "ended lost overdue true")
    }

    @Test func aLostWorkerAnswersAtOnceAndEndsWithTheProcess() throws {
        let ring = InvocationRing(concurrency: 2)
        let clients = [try ring.admit(), try ring.admit()]
        let worker = try #require(ring.processes.workers.first)
        worker.closeLink()
        ring.run()
        #expect(clients.map(\.heard) == [["started", "answered INTERNAL"], ["started", "answered INTERNAL"]])
        worker.crash()
        ring.run()
        #expect(clients.map { $0.heard.last } == ["ended lost crash false", "ended lost crash false"])
    }

    @Test func whoHasLeftHearsNothingMore() throws {
        let ring = InvocationRing()
        let running = try ring.admit()
        let queued = try ring.admit()
        queued.invocation?.clientLeft()
        running.invocation?.clientLeft()
        ring.run()
        let worker = try #require(ring.processes.workers.first)
        worker.send(.result, try #require(worker.takeInvocations().first)) { $0.writeString("1") }
        ring.run()
        #expect(running.heard == ["started"])
        #expect(queued.heard == [])
        #expect(worker.takeInvocations() == [])
    }

    // MARK: The budget

    @Test func whatCouldNotStartGivesItsPlaceInTheBudgetBack() throws {
        let ring = InvocationRing(budget: Self.budget(3), timeoutSeconds: 1, queue: 2)
        ring.processes.start = .silent
        let late = try ring.admit()
        let left = try ring.admit()
        // The queue is full.
        #expect(try ring.admit().heard.last == "ended notStarted Too many calls are waiting.")
        left.invocation?.clientLeft()
        ring.advance(.milliseconds(1100))
        #expect(late.heard.last == "ended notStarted DEADLINE_EXCEEDED")
        for _ in 1...2 { _ = try ring.admit() }
        ring.advance(.milliseconds(1100))
        #expect(ring.function.gate.admit() == nil)
    }

    @Test func workersThatDoNotStartCostNoBudget() throws {
        let ring = InvocationRing(budget: Self.budget(1))
        ring.processes.start = .fails
        let client = try ring.admit()
        ring.advance(.seconds(2))
        #expect(client.heard.last == "ended notStarted INTERNAL")
        #expect(ring.function.gate.admit() == nil)
    }

    @Test func aHandlerThatRanKeepsItsPlaceInTheBudget() throws {
        let ring = InvocationRing(budget: Self.budget(2), timeoutSeconds: 1)
        _ = try ring.admit()
        ring.processes.workers.first?.closeLink()
        ring.run()
        _ = try ring.admit()
        #expect(throws: AdmissionRefusal.self) { try ring.admit() }
    }

    @Test func limitsComeBeforeTheBudget() throws {
        let ring = InvocationRing(budget: Self.budget(1))
        ring.function.gate.isPaused = true
        let refusal = #expect(throws: AdmissionRefusal.self) { try ring.admit() }
        #expect(refusal?.failure.message == "f is paused.")
        #expect(!ring.loop.isBusy)
    }

    // MARK: Transactions

    @Test func aTransactionBegunAfterTheEndIsReleasedAtOnce() throws {
        let ring = InvocationRing()
        _ = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(.begin(.readWrite(retrying: nil)), id)
        worker.send(.result, id) { $0.writeString("1") }
        ring.run()
        let before = ring.documents.released.count
        ring.documents.answer(.began(Self.transaction, prefetched: []))
        ring.run()
        #expect(ring.documents.released.count == before + 1)
        #expect(ring.documents.released.last == id)
    }

    @Test func atTheDeadlineOpenTransactionsAreReleasedAndLaterOnesToo() throws {
        let ring = InvocationRing(timeoutSeconds: 1)
        _ = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(.begin(.readWrite(retrying: nil)), id)
        ring.documents.answer(.began(Self.transaction, prefetched: []))
        worker.send(.begin(.readWrite(retrying: nil)), number: 2, id)
        ring.run()
        #expect(ring.documents.released == [])
        ring.advance(.milliseconds(1050))
        #expect(ring.documents.released == [id])
        ring.documents.answer(.began(TransactionID(rawValue: 8), prefetched: []))
        ring.run()
        #expect(ring.documents.released == [id, id])
        // Nothing is left to release at its end.
        worker.send(.result, id) { $0.writeString("1") }
        #expect(ring.documents.released == [id, id])
    }

    /// Databases that answer when the test says so.
    private final class LateDatabases: DatabaseBackend {
        private let waiting = Mutex<[Completion<DatabaseAnswer>]>([])

        func perform(
            _ request: DatabaseRequest, in context: OperationContext, completion: @escaping Completion<DatabaseAnswer>
        ) {
            waiting.withLock { $0.append(completion) }
        }

        func release(owner: UInt64) {}

        func answer(_ answer: DatabaseAnswer) {
            let completion = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            completion?(.success(answer))
        }
    }

    @Test func anObservationBegunAfterTheEndIsReleasedAtOnce() throws {
        let databases = LateDatabases()
        let ring = InvocationRing(databases: databases)
        _ = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(.database(DatabaseRequest(.observe, target: "a")), id)
        worker.send(.result, id) { $0.writeString("1") }
        ring.run()
        let before = ring.documents.released.count
        databases.answer(.observing(1))
        ring.run()
        #expect(ring.documents.released.count == before + 1)
        #expect(ring.documents.released.last == id)
    }

    @Test func anEndedTransactionIsNotReleased() throws {
        let ring = InvocationRing()
        _ = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(.begin(.readWrite(retrying: nil)), id)
        ring.documents.answer(.began(Self.transaction, prefetched: []))
        worker.send(.rollback(Self.transaction), number: 2, id)
        ring.documents.answer(.rolledBack)
        ring.run()
        worker.send(.result, id) { $0.writeString("1") }
        #expect(ring.documents.released == [])
    }

    /// The client will ask for the answer again.
    @Test func claimedWorkGoesOnWhenItsClientHasLeft() throws {
        let ring = InvocationRing()
        let client = try ring.admit(key: CompletionKey(scope: "f/", key: "", fingerprint: [1]))
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(.claim(key: "k", .once), id)
        let claim = try #require(ring.documents.next())
        #expect(claim.context.completion?.key == "k")
        claim.answer(.claimed)
        ring.run()
        client.invocation?.clientLeft()
        #expect(!worker.frames.contains { $0.kind == .cancel })
        // The work's transactions have no key of their own.
        worker.send(.begin(.readWrite(retrying: nil)), number: 2, id)
        let begin = try #require(ring.documents.next())
        #expect(begin.context.completion == nil)
        begin.answer(.began(Self.transaction, prefetched: []))
        worker.send(.settle([1]), number: 3, id)
        let settle = try #require(ring.documents.next())
        #expect(settle.context.completion?.key == "k")
        settle.answer(.settled)
        ring.run()
        worker.send(.result, id) { $0.writeString("1") }
        #expect(client.heard == ["started"])
        #expect(!ring.loop.isBusy)
    }

    /// Its record may be durable already, and would say that the work was begun.
    @Test(arguments: [true, false]) func workWhoseClaimIsUnderWayGoesOnWhenItsClientHasLeft(isClaimed: Bool) throws {
        let ring = InvocationRing()
        let client = try ring.admit(key: CompletionKey(scope: "f/", key: "k", fingerprint: [1]))
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(.claim(key: "k", .once), id)
        let claim = try #require(ring.documents.next())
        client.invocation?.clientLeft()
        ring.run()
        #expect(!worker.frames.contains { $0.kind == .cancel })
        #expect(ring.documents.released == [])
        claim.answer(isClaimed ? .claimed : .completed([2]))
        ring.run()
        #expect(worker.frames.last?.kind == .documentResponse)
        if isClaimed {
            worker.send(.settle([1]), number: 2, id)
            ring.documents.answer(.settled)
            ring.run()
        }
        worker.send(.result, id) { $0.writeString("1") }
        #expect(client.heard == ["started"])
        #expect(ring.documents.released == [])
        #expect(!ring.loop.isBusy)
    }

    @Test(arguments: [true, false]) func aClaimThatIsRefusedKeepsNothingGoing(leavesFirst: Bool) throws {
        let ring = InvocationRing()
        let client = try ring.admit(key: CompletionKey(scope: "f/", key: "k", fingerprint: [1]))
        let worker = try #require(ring.processes.workers.first)
        worker.send(.claim(key: "k", .once), try #require(worker.takeInvocations().first))
        if leavesFirst { client.invocation?.clientLeft() }
        ring.documents.answer(.failed(DocumentError(.unavailable, "it is full")))
        ring.run()
        if !leavesFirst { client.invocation?.clientLeft() }
        ring.run()
        #expect(worker.frames.last?.kind == .cancel)
    }

    @Test func aClaimOfAnEndedProcessIsReleased() throws {
        let ring = InvocationRing()
        _ = try ring.admit(key: CompletionKey(scope: "f/", key: "k", fingerprint: [1]))
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(.claim(key: "k", .once), id)
        ring.documents.answer(.claimed)
        ring.run()
        worker.closeLink()
        ring.run()
        #expect(ring.documents.released.count == 1)
    }

    @Test func aReusedKeyIsTheCallersMistake() throws {
        let ring = InvocationRing()
        let client = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(.begin(.readWrite(retrying: nil)), id)
        ring.documents.answer(.keyReused)
        ring.run()
        #expect(client.heard == ["started", "answered this Idempotency-Key was used with other data"])
        #expect(worker.frames.map(\.kind).suffix(2) == [.documentResponse, .cancel])
        var payload = try #require(worker.frames.first { $0.kind == .documentResponse }).payload
        _ = try payload.read(UInt32.self)
        #expect(
            try DocumentResponse(decoding: Array(payload.readableBytesView))
                == .failed(.invalidArgument("this Idempotency-Key was used with other data")))
    }

    /// Such as of a read time that is finer than microseconds.
    @Test func aBeginThatIsRefusedOtherwiseIsTheHandlersMatter() throws {
        let ring = InvocationRing()
        let client = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(.begin(.readOnly(at: Timestamp(seconds: 1, nanoseconds: 1))), id)
        ring.documents.answer(.failed(.invalidArgument("a read time has microseconds")))
        ring.run()
        #expect(client.heard == ["started"])
        #expect(worker.frames.last?.kind == .documentResponse)
    }
}
