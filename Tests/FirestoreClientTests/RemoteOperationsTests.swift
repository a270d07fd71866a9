import DocumentModel
@testable import FirestoreClient
import OutboundHTTP
import Synchronization
import TestSupport
import Testing

/// The operations that an invocation has in progress at a remote service, and what happens to them when it ends.
struct RemoteOperationsTests {
    private typealias Step = ScriptedService.Step

    /// A service that doesn't respond until the request is cancelled.
    private final class SilentService: OutboundTransport {
        private let continuation: AsyncStream<String>.Continuation
        /// The bodies of the requests.
        let seen: AsyncStream<String>

        init() { (seen, continuation) = AsyncStream.makeStream() }

        func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
            continuation.yield(String(decoding: request.body ?? [], as: UTF8.self))
            let (never, open) = AsyncStream<Void>.makeStream()
            for await _ in never {}
            open.finish()
            throw OutboundError(.cancelled, host: "firestore.test", "cancelled")
        }
    }

    /// A service during one of whose requests the invocation ends.
    private final class EndingService: OutboundTransport {
        let script: ScriptedService
        let verb: String
        let firestore = Mutex<RemoteFirestore?>(nil)

        init(_ script: ScriptedService, endingAt verb: String) {
            self.script = script
            self.verb = verb
        }

        func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
            if request.address.hasSuffix(verb) { firestore.withLock { $0 }?.release(owner: 7) }
            if Task.isCancelled { throw OutboundError(.cancelled, host: "firestore.test", "cancelled") }
            return try await script.send(request)
        }
    }

    private func firestore(_ transport: any OutboundTransport, memory: Int = ResponseBudget.total) -> RemoteFirestore {
        RemoteFirestore(
            service: FirestoreService(
                database: DatabaseID(project: "demo-shop"), origin: "https://firestore.test", transport: transport,
                tokens: nil, pause: { _ in }),
            memory: memory, now: { Timestamp(microseconds: 9_000_000) })
    }

    private func ending(
        at verb: String, _ steps: [Step]
    ) -> (firestore: RemoteFirestore, script: ScriptedService) {
        let script = ScriptedService(steps)
        let service = EndingService(script, endingAt: verb)
        let firestore = firestore(service)
        service.firestore.withLock { $0 = firestore }
        return (firestore, script)
    }

    private typealias Answer = Result<DocumentsAnswer, DocumentError>

    /// Starts to read a document.
    private func get(
        _ path: String, of firestore: RemoteFirestore, for owner: UInt64,
        _ completion: @escaping @Sendable (Answer) -> Void
    ) throws {
        firestore.get([try DocumentPath(path)], .strong, in: OperationContext(owner: owner), completion: completion)
    }

    @Test(.endsHangs) func requestsOfAnInvocationAreLimitedAndEndWithIt() async throws {
        let service = SilentService()
        let firestore = firestore(service)
        let (answers, answered) = AsyncStream<Answer>.makeStream()
        let count = RemoteOperations.maxRequests + 4
        for _ in 0..<count { try get("c/a", of: firestore, for: 7) { answered.yield($0) } }
        var seen = service.seen.makeAsyncIterator()
        for _ in 0..<RemoteOperations.maxRequests { #expect(await seen.next()?.contains("c/a") == true) }
        // Other invocations are served in the meantime.
        let path = try DocumentPath("c/b")
        async let other = outcome { () throws(DocumentError) in
            try await firestore.get([path], in: OperationContext(owner: 8))
        }
        #expect(await seen.next()?.contains("c/b") == true)
        firestore.release(owner: 7)
        var all = answers.makeAsyncIterator()
        for _ in 0..<count { #expect(await all.next() == .failure(FirestoreService.cancelled)) }
        firestore.release(owner: 8)
        #expect(await other == .failure(FirestoreService.cancelled))
    }

    @Test(.endsHangs) func operationWithoutMemoryForItsResponseWaits() async throws {
        let service = SilentService()
        let firestore = firestore(service, memory: 2 * ResponseBudget.step)
        let (answers, answered) = AsyncStream<Answer>.makeStream()
        var seen = service.seen.makeAsyncIterator()
        for owner in 1...2 as ClosedRange<UInt64> {
            try get("c/a", of: firestore, for: owner) { answered.yield($0) }
            _ = await seen.next()
        }
        try get("c/b", of: firestore, for: 3) { answered.yield($0) }
        try get("c/c", of: firestore, for: 4) { answered.yield($0) }
        // Operations that were never sent end, too.
        firestore.release(owner: 3)
        firestore.release(owner: 4)
        var all = answers.makeAsyncIterator()
        for _ in 0..<2 { #expect(await all.next() == .failure(FirestoreService.cancelled)) }
        let path = try DocumentPath("c/d")
        async let last = outcome { () throws(DocumentError) in
            try await firestore.get([path], in: OperationContext(owner: 5))
        }
        firestore.release(owner: 1)
        #expect(await seen.next()?.contains("c/d") == true)
        firestore.release(owner: 5)
        _ = await last
        firestore.release(owner: 2)
    }

    /// Invocations are countless: nothing may stay for one that has ended.
    @Test(.endsHangs) func nothingIsKeptForAnInvocationWhoseOperationsHaveEnded() async {
        let operations = RemoteOperations()
        let (begun, beginning) = AsyncStream<Void>.makeStream()
        let gate = AsyncStream<Void>.makeStream()
        for owner in 1...3 as ClosedRange<UInt64> {
            operations.run(for: owner) { _ in
                beginning.yield()
                for await _ in gate.stream {}
            }
        }
        var all = begun.makeAsyncIterator()
        for _ in 1...3 { await all.next() }
        #expect(operations.ownerCount == 3)
        for owner in 1...3 as ClosedRange<UInt64> { operations.cancel(owner: owner) }
        while operations.ownerCount > 0 { await Task.yield() }
    }

    @Test func responseDroppedForLackOfMemoryIsRequestedAgainAtOnce() async throws {
        let scripted = ScriptedFirestore([.failure(":runQuery", .outOfMemory), Step(":runQuery", "[]")])
        let answer = try await scripted.firestore.query(Query(collectionID: "c"))
        #expect(answer == QueryAnswer(documents: [], readTime: Timestamp(microseconds: 9_000_000)))
        #expect(scripted.script.isDone)
        #expect(scripted.pauses.all.isEmpty)
    }

    @Test func aCommitThatFailsAfterItsInvocationsEndIsRolledBack() async throws {
        let (firestore, script) = ending(
            at: ":commit",
            [
                Step(":beginTransaction", #"{"transaction":"AQID"}"#),
                Step(":commit", status: 503, #"{"error":{"code":503,"message":"no","status":"UNAVAILABLE"}}"#),
                Step(":rollback", with: #"{"transaction":"AQID"}"#, "{}"),
            ])
        let owner = OperationContext(owner: 7)
        guard case .began(let id, _) = try await firestore.begin(in: owner) else {
            Issue.record("not begun")
            return
        }
        let write = Write(path: try DocumentPath("c/a"), operation: .delete)
        await #expect(throws: DocumentError(.unavailable, "no")) {
            try await firestore.commit([write], transaction: id, in: owner)
        }
        await firestore.shutdown()
        #expect(script.isDone)
    }

    @Test func aTransactionThatBeginsWhileItsInvocationEndsIsRolledBack() async throws {
        let (firestore, script) = ending(
            at: ":beginTransaction",
            [Step(":beginTransaction", #"{"transaction":"AQID"}"#), Step(":rollback", "{}")])
        let answer = try await firestore.begin(.readOnly(at: nil), in: OperationContext(owner: 7))
        guard case .began = answer else {
            Issue.record("\(answer)")
            return
        }
        // As the worker's link does once it receives the response.
        firestore.release(owner: 7)
        await firestore.shutdown()
        #expect(script.isDone)
    }

    @Test func shutdownRollsBackOpenTransactions() async throws {
        let scripted = ScriptedFirestore([
            Step(":beginTransaction", #"{"transaction":"AQID"}"#),
            Step(":rollback", with: #"{"transaction":"AQID"}"#, "{}"),
        ])
        _ = try await scripted.firestore.begin(in: OperationContext(owner: 7))
        await scripted.firestore.shutdown()
        #expect(scripted.script.isDone)
        #expect(scripted.firestore.transactions.withLock { $0.count } == 0)
    }
}
