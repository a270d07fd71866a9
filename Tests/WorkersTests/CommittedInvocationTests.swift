import DocumentModel
import FunctionManifest
import NIOCore
import Testing
import WorkerProtocol
import WorkerTesting

@testable import Workers

/// The commit that completes a handler's work ends its invocation.
struct CommittedInvocationTests {
    private static let committed = DocumentResponse.committed(
        CommitResult(commitTime: Timestamp(seconds: 1, nanoseconds: 0), writeResults: []))

    private static func commit(_ response: String) -> DocumentRequest {
        .commit([], transaction: nil, completing: Array(response.utf8))
    }

    @Test func itsResponseAnswersTheClientAndFreesThePlace() throws {
        let ring = InvocationRing()
        let first = try ring.admit()
        let second = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(Self.commit("1"), id)
        ring.run()
        #expect(first.heard == ["started"])
        ring.documents.answer(Self.committed)
        ring.run()
        #expect(first.heard == ["started", "answered 1", "ended 1"])
        #expect(second.heard == ["started"])
        // The handler is answered too, before the next one begins.
        #expect(worker.frames.map(\.kind).suffix(2) == [.documentResponse, .invoke])
        #expect(ring.documents.released == [])
        // What it sends afterwards is ignored.
        worker.send(.result, id) { $0.writeString("2") }
        ring.run()
        #expect(first.heard == ["started", "answered 1", "ended 1"])
        #expect(second.heard == ["started"])
    }

    @Test func aCommitThatFailsEndsNothing() throws {
        let ring = InvocationRing()
        let client = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(Self.commit("1"), id)
        ring.documents.answer(.failed(DocumentError(.aborted, "it lost")))
        ring.run()
        #expect(client.heard == ["started"])
        worker.send(Self.commit("2"), number: 2, id)
        ring.documents.answer(Self.committed)
        ring.run()
        #expect(client.heard == ["started", "answered 2", "ended 2"])
    }

    @Test func anotherCommitEndsNothing() throws {
        let ring = InvocationRing()
        let client = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(.commit([], transaction: nil, completing: nil), id)
        ring.documents.answer(Self.committed)
        ring.run()
        #expect(client.heard == ["started"])
        worker.send(.result, id) { $0.writeString("1") }
        #expect(client.heard == ["started", "answered 1", "ended 1"])
    }

    /// It was under way at the deadline, and the worker says nothing more of it.
    @Test func oneThatComesAfterTheDeadlineFreesThePlace() throws {
        let ring = InvocationRing(timeoutSeconds: 1)
        let first = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(Self.commit("late"), id)
        ring.advance(.milliseconds(1050))
        #expect(first.heard == ["started", "answered DEADLINE_EXCEEDED"])
        let second = try ring.admit()
        #expect(second.heard == [])
        ring.documents.answer(Self.committed)
        ring.run()
        #expect(first.heard == ["started", "answered DEADLINE_EXCEEDED", "ended late"])
        #expect(second.heard == ["started"])
    }

    // MARK: A lost worker

    private static let key = "this Idempotency-Key was used with other data"

    private static let outcomes: [(DocumentResponse, String)] = [
        (committed, "1"), (.completed(Array("earlier".utf8)), "earlier"), (.keyReused, key),
        (.failed(DocumentError(.aborted, "it lost")), "INTERNAL"),
    ]

    /// The client learns the outcome of its work, and not that the process was lost.
    @Test(arguments: outcomes.indices, [false, true])
    func theClientOfALostWorkerIsAnsweredByTheCommit(outcome: Int, isGoneFirst: Bool) throws {
        let (response, answer) = Self.outcomes[outcome]
        let ring = InvocationRing()
        let client = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        worker.send(Self.commit("1"), try #require(worker.takeInvocations().first))
        let commit = try #require(ring.documents.next())
        if isGoneFirst { worker.crash() } else { worker.closeLink() }
        ring.run()
        #expect(client.heard == ["started"])
        #expect(ring.loop.isBusy)
        #expect(ring.documents.released == [])
        commit.answer(response)
        ring.run()
        #expect(client.heard.prefix(2) == ["started", "answered " + answer])
        #expect(client.heard.count == (isGoneFirst ? 3 : 2))
        worker.crash()
        ring.run()
        #expect(client.heard.count == 3 && client.heard[2].hasPrefix("ended lost"))
        #expect(!ring.loop.isBusy)
    }

    @Test(arguments: [false, true]) func itWaitsUntilTheDeadline(isGone: Bool) throws {
        let ring = InvocationRing(timeoutSeconds: 1)
        let client = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        let id = try #require(worker.takeInvocations().first)
        worker.send(Self.commit("1"), id)
        let commit = try #require(ring.documents.next())
        if isGone { worker.crash() } else { worker.closeLink() }
        ring.advance(.milliseconds(1050))
        #expect(client.heard.prefix(2) == ["started", "answered DEADLINE_EXCEEDED"])
        #expect(client.heard.count == (isGone ? 3 : 2))
        #expect(ring.documents.released.first == id)
        commit.answer(Self.committed)
        ring.run()
        #expect(client.heard.count == (isGone ? 3 : 2))
        #expect(!ring.loop.isBusy)
    }

    @Test func itIsAnsweredWhenTheHostStops() throws {
        let ring = InvocationRing()
        let client = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        worker.send(Self.commit("1"), try #require(worker.takeInvocations().first))
        worker.crash()
        ring.run()
        ring.loop.failAll(.stopping)
        #expect(client.heard.count == 3 && client.heard[2].hasPrefix("ended lost"))
        #expect(!ring.loop.isBusy)
    }

    @Test func itEndsWithItsClient() throws {
        let ring = InvocationRing()
        let client = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        worker.send(Self.commit("1"), try #require(worker.takeInvocations().first))
        worker.closeLink()
        ring.run()
        client.invocation?.clientLeft()
        #expect(client.heard == ["started"])
        #expect(!ring.loop.isBusy)
    }

    @Test func aResponseThatIsTooLargeIsAnInternalError() throws {
        let ring = InvocationRing(responseBody: 2)
        let client = try ring.admit()
        let worker = try #require(ring.processes.workers.first)
        worker.send(Self.commit("123"), try #require(worker.takeInvocations().first))
        ring.documents.answer(Self.committed)
        ring.run()
        #expect(client.heard == ["started", "answered INTERNAL", "ended INTERNAL"])
    }
}
