@testable import CommitPipeline
import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

/// Tasks that a commit takes back.
struct TaskDeletionTests {
    private func started(_ kind: EngineKind = .memory) throws -> TestStore {
        let test = try TestStore(kind)
        test.store.routeEvents(by: EventRoutes(queues: ["mail", "print"]))
        return test
    }

    private func task(_ name: String? = nil, queue: String = "mail") -> Effect {
        .enqueue(TaskDraft(queue: queue, name: name, body: [1]))
    }

    @Test(arguments: EngineKind.allCases) func aTaskGoesByItsNameOrItsEvent(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            try await test.commit(effects: [task("n"), task(), task("n", queue: "print")])
            let unnamed = try #require(try await test.due("mail").last).delivery.id
            let news = NewsLog(test.store)
            try await test.commit(effects: [.deleteTask("n", queue: "mail")])
            #expect(try await test.due("mail").map(\.delivery.id) == [unnamed])
            #expect(news.take().flatMap(\.withdrawn).count == 1)
            try await test.commit(effects: [.deleteTask("\(unnamed.event)", queue: "mail")])
            #expect(try await test.store.outbox.counts().map(\.function) == ["print"])
            // Deleting a task that doesn't exist, never existed or has ended isn't an error.
            for id in ["n", "never", "\(unnamed.event)"] {
                try await test.commit(effects: [.deleteTask(id, queue: "mail")])
            }
            // The name stays taken for a day.
            #expect(await refusal { try await test.commit(effects: [task("n")]) }?.code == .alreadyExists)
            test.clock.advance(seconds: 86_401)
            try await test.commit(effects: [task("n")])
            #expect(try test.problems().isEmpty)
        }
    }

    @Test func aNamedTaskDoesNotGoByItsEventAndADeadLetterStays() async throws {
        try await withStore(started()) { test in
            try await test.commit(effects: [task("n")])
            let id = try #require(try await test.due("mail").first).delivery.id
            try await test.commit(effects: [.deleteTask("\(id.event)", queue: "mail")])
            #expect(try await test.due("mail").count == 1)
            try await test.end(test.take("mail"), .dead(DeliveryFailure("no")))
            try await test.commit(effects: [.deleteTask("n", queue: "mail")])
            #expect(try await test.dead().map(\.id) == [id])
        }
    }

    /// It goes with the commit, and stays without it.
    @Test func aTaskThatIsDeletedInARefusedCommitStays() async throws {
        try await withStore(started()) { test in
            try await test.commit(effects: [task("n")])
            let error = await refusal {
                try await test.commit(effects: [.deleteTask("n", queue: "mail"), task("n")])
            }
            #expect(error?.code == .alreadyExists)
            #expect(try await test.due("mail").count == 1)
            // What a commit enqueues it may take back.
            let news = NewsLog(test.store)
            try await test.commit(effects: [task("m"), .deleteTask("m", queue: "mail")])
            #expect(news.take().flatMap(\.due).isEmpty)
            #expect(try await test.due("mail").count == 1)
            #expect(try test.problems().isEmpty)
        }
    }

    @Test(arguments: [
        DeliveryOutcome.succeeded, .retry(at: Timestamp(seconds: 0, nanoseconds: 0), DeliveryFailure("no")),
    ])
    func whatIsBeingRunIsNotTriedAgain(outcome: DeliveryOutcome) async throws {
        try await withStore(started()) { test in
            try await test.commit(effects: [task("n")])
            let lease = try await test.take("mail")
            try await test.commit(effects: [.deleteTask("n", queue: "mail")])
            // A transactional handler has no effect any more.
            let context = OperationContext(delivery: lease)
            let error = await refusal {
                try await test.commit([test.write("a/b", 1)], effects: [], completing: [1], context: context)
            }
            #expect(error?.code == .failedPrecondition)
            #expect(try await test.get("a/b") == nil)
            #expect(try await test.end(lease, outcome) == 0)
            #expect(try test.outboxRows() == 0)
            #expect(test.store.outbox.lease(lease.id) != nil)
            #expect(try test.problems().isEmpty)
        }
    }

    @Test func aHandlerMayDeleteItsOwnTask() async throws {
        try await withStore(started()) { test in
            try await test.commit(effects: [task("n")])
            let context = OperationContext(delivery: try await test.take("mail"))
            try await test.commit(
                [test.write("a/b", 1)], effects: [.deleteTask("n", queue: "mail")], completing: [1], context: context)
            #expect(try await test.get("a/b") != nil)
            #expect(try test.outboxRows() == 0)
        }
    }
}
