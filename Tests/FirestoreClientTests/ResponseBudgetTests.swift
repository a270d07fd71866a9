import DocumentModel
@testable import FirestoreClient
import OutboundHTTP
import Sharing
import Synchronization
import TestSupport
import Testing

/// How operations share the memory for their responses.
struct ResponseBudgetTests {
    @Test func responseGrowsWhileMemoryIsAvailable() async throws {
        let memory = AsyncSemaphore(3 * ResponseBudget.step)
        let (one, other) = (ResponseBudget(of: memory), ResponseBudget(of: memory))
        try await one.acquire(ResponseBudget.step)
        try await other.acquire(ResponseBudget.step)
        #expect(one.grow(to: ResponseBudget.step, mayOvercommit: false))
        #expect(memory.available == ResponseBudget.step)
        #expect(one.grow(to: ResponseBudget.step + 1, mayOvercommit: false))
        #expect(memory.available == 0)
        #expect(!other.grow(to: ResponseBudget.step + 1, mayOvercommit: false))
        #expect(other.grow(to: ResponseBudget.step + 1, mayOvercommit: true))
        #expect(memory.available == -ResponseBudget.step)
        one.release()
        other.release()
        #expect(memory.available == 3 * ResponseBudget.step)
    }

    /// Answers with the largest responses there may be, and never to what reads `c/held` until it is let go.
    private final class LargeResponses: OutboundTransport {
        private let gate: AsyncStream<Void>
        /// What was asked for, in order; a response that was given up has a mark.
        let log: AsyncStream<String>
        private let note: AsyncStream<String>.Continuation

        init(holding gate: AsyncStream<Void>) {
            self.gate = gate
            (log, note) = AsyncStream.makeStream()
        }

        func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
            let verb = request.address.split(separator: ":").last.map(String.init) ?? ""
            if verb == "batchGet" {
                note.yield(verb)
                for await _ in gate {}
                return OutboundResponse(status: 200, body: Array(#"[{"missing":"\#(Self.name)"}]"#.utf8))
            }
            guard request.reserve?(FirestoreService.maxAnswerBytes) ?? true else {
                note.yield(verb + " given up")
                throw OutboundError(.outOfMemory, host: "firestore.test", "no memory is free for the response")
            }
            note.yield(verb)
            let body = verb == "commit" ? #"{"commitTime":"1970-01-01T00:00:01Z","writeResults":[{}]}"# : "[]"
            return OutboundResponse(status: 200, body: Array(body.utf8))
        }

        private static let name = "projects/demo-shop/databases/(default)/documents/c/held"
    }

    /// A query can be repeated once there is memory. A commit can't: its response is kept though none is available.
    @Test(.endsHangs) func queryIsGivenUpForLackOfMemoryAndCommitIsKept() async throws {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let service = LargeResponses(holding: gate)
        let firestore = RemoteFirestore(
            service: FirestoreService(
                database: DatabaseID(project: "demo-shop"), origin: "https://firestore.test", transport: service,
                tokens: nil, pause: { _ in }),
            memory: FirestoreService.maxAnswerBytes, now: { Timestamp(microseconds: 9_000_000) })
        var log = service.log.makeAsyncIterator()
        let held = try DocumentPath("c/held")
        async let holding = firestore.get([held])
        #expect(await log.next() == "batchGet")

        let write = Write(path: try DocumentPath("c/a"), operation: .delete)
        let committed = try await firestore.commit([write])
        guard case .committed = committed else {
            Issue.record("\(committed)")
            return
        }
        #expect(await log.next() == "commit")

        async let queried = firestore.query(Query(collectionID: "c"))
        #expect(await log.next() == "runQuery given up")
        open.finish()
        let answer = try await queried
        #expect(answer == QueryAnswer(documents: [], readTime: Timestamp(microseconds: 9_000_000)))
        #expect(await log.next() == "runQuery")
        _ = try await holding
    }
}
