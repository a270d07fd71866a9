import TestSupport
@testable import CommitPipeline
import DocumentModel
@testable import DocumentStore
import StorageEngine
import StoreTestSupport
import Synchronization
import Testing

/// Documents in one commit with another kind of data.
struct SharedCommitTests {
    /// A row of another kind.
    private final class Row: CommitPart {
        let value: UInt8?

        init(_ value: UInt8?) { self.value = value }

        func prepare(_ commit: Commit, version: Int64, by routes: EventRoutes, in batch: CommitBatch) throws {
            if value == nil { throw DocumentError(.failedPrecondition, "the row is refused") }
        }

        func apply(version: Int64, in batch: CommitBatch, to storage: any StorageWriter) throws {
            try storage.put(.meta, [1], [value ?? 0])
            batch.versions.claim(version)
        }
    }

    @Test func aDocumentAndARowAreOneCommitOrNone() async throws {
        let engine = FailingEngine()
        try await withStore(engine: engine) { test in
            let store = test.store
            store.routeEvents(documents: [try .init("f", .written, "a/{id}")])
            func row() throws -> [UInt8]? { try engine.makeReadSession().read { try $0.get(.meta, [1]) } }
            func commit(_ n: Int64, _ value: UInt8?) async throws -> CommitOutcome {
                let write = Write(path: try DocumentPath("a/b"), operation: .set(["n": .integer(n)]))
                return await store.pipeline.commit { Commit([store.part([write]), Row(value)]) }
            }
            guard case .applied(let version) = try await commit(1, 1) else { throw DocumentError(.internal, "refused") }
            #expect(try await test.get("a/b")?.updateTime.microseconds == version)
            #expect(try row() == [1])
            // Refused by the other part, and lost with its batch.
            guard case .refused = try await commit(2, nil) else { throw DocumentError(.internal, "applied") }
            engine.fails.withLock { $0 = true }
            guard case .refused = try await commit(3, 3) else { throw DocumentError(.internal, "applied") }
            engine.fails.withLock { $0 = false }
            #expect(try await test.get("a/b")?.fields["n"] == .integer(1))
            #expect(try row() == [1])
            #expect(try await store.outbox.counts().map(\.pending) == [1])
        }
    }

    private struct DenyingPolicy: AccessPolicy {
        func check(_ access: Access, in view: AccessView) throws {
            throw DocumentError(.permissionDenied, "no user may write")
        }
    }

    @Test func aPartIsAllowedNoMoreThanItsCommit() async throws {
        try await withStore { test in
            let store = test.store
            let write = Write(path: try DocumentPath("a/b"), operation: .set([:]))
            let user = OperationContext(policy: DenyingPolicy())
            let outcome = await store.pipeline.commit { Commit([Row(1), store.part([write])], in: user) }
            guard case .refused(let error) = outcome else { throw DocumentError(.internal, "\(outcome)") }
            #expect(error.code == .permissionDenied)
            #expect(try await test.get("a/b") == nil)
        }
    }

    @Test func twoPartsOfACommitCannotWriteTheSameDocument() async throws {
        try await withStore { test in
            let store = test.store
            let write = Write(path: try DocumentPath("a/b"), operation: .set([:]))
            let other = Write(path: try DocumentPath("a/c"), operation: .set([:]))
            let outcome = await store.pipeline.commit { Commit([store.part([write]), store.part([other, write])]) }
            guard case .refused(let error) = outcome else { throw DocumentError(.internal, "\(outcome)") }
            #expect(error.code == .invalidArgument)
            #expect(error.message.contains("a/b"))
            #expect(try await test.get("a/c") == nil)
            guard case .applied = await store.pipeline.commit({ Commit([store.part([write]), store.part([other])]) })
            else { throw DocumentError(.internal, "refused") }
            #expect(try await test.get("a/b") != nil)
            #expect(try await test.get("a/c") != nil)
        }
    }

    /// Switches the routes after the documents' events were determined and before the others are.
    private final class Switching: CommitPart {
        let routes: () -> Void

        init(_ routes: @escaping () -> Void) { self.routes = routes }

        func prepare(_ commit: Commit, version: Int64, by routes: EventRoutes, in batch: CommitBatch) {}
        func apply(version: Int64, in batch: CommitBatch, to storage: any StorageWriter) {}

        func events(by routes: EventRoutes) -> [CausedEvent] {
            self.routes()
            return []
        }
    }

    @Test func aCommitIsDeliveredByOneSetOfRoutes() async throws {
        try await withStore { test in
            let store = test.store
            let pattern = try DocumentPattern("a/{id}")
            @Sendable func route(to release: String) {
                store.routeEvents(
                    by: EventRoutes(events: [.init(function: release + "-paid", type: "paid")]),
                    documents: [DocumentTrigger(function: release + "-written", kind: .written, pattern: pattern)])
            }
            route(to: "old")
            let write = Write(path: try DocumentPath("a/b"), operation: .set([:]))
            let paid = Effect.publish(CloudEvent(type: "paid", source: "/shop"))
            _ = await store.pipeline.commit {
                Commit([store.part([write]), Switching { route(to: "new") }], effects: [paid])
            }
            #expect(try await store.outbox.counts().map(\.function) == ["old-paid", "old-written"])
        }
    }

    /// Who has the answer of a commit can rely on its listeners having been notified: the change is with their thread.
    @Test func listenersAreNotifiedBeforeTheCommitIsAnswered() throws {
        let clock = ManualClock()
        let store = try DocumentStore(engine: MemoryEngine(), now: clock.timestamp, elapsed: clock.elapsed)
        _ = try store.listeners.register(OperationContext())
        let wasNotified = Mutex(false)
        let write = Write(path: try DocumentPath("a/b"), operation: .set([:]))
        let commit = WriteCommit(
            store: store, writes: [write], transaction: nil, completing: nil, effects: [], context: OperationContext()
        ) { _ in
            wasNotified.withLock { $0 = !store.listeners.jobs.isEmpty }
        }
        try store.pipeline.makeWriter().runBatch([commit])
        #expect(wasNotified.withLock { $0 })
    }
}
