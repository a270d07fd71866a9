@testable import CommitPipeline
import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

/// Tasks and events that commits cause.
struct EffectTests {
    private func started(_ kind: EngineKind = .memory) throws -> TestStore {
        let test = try TestStore(kind)
        test.store.routeEvents(
            by: EventRoutes(
                events: [
                    .init(function: "all", type: "order.paid"),
                    .init(function: "vip", type: "order.paid", filters: ["level": "vip", "source": "/shop"]),
                    .init(function: "json", type: "order.paid", filters: ["datacontenttype": "application/json"]),
                    .init(function: "other", type: "order.sent"),
                ], queues: ["mail", "print"]))
        return test
    }

    private func task(_ name: String? = nil, at time: Timestamp? = nil, queue: String = "mail") -> Effect {
        .enqueue(TaskDraft(queue: queue, name: name, body: [1, 2], headers: ["a": "b"], scheduleTime: time))
    }

    @Test(arguments: EngineKind.allCases) func tasksComeWithTheirCommit(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            let later = test.clock.timestamp().adding(seconds: 60)
            let news = NewsLog(test.store)
            try await test.commit(
                [test.write("a/b", 1)], effects: [task(), task(at: later), task(queue: "print")],
                context: OperationContext(chain: ["f"]))
            let reported = news.take()
            #expect(reported.flatMap(\.due).map(\.delivery.id.function) == ["mail", "print"])
            #expect(reported.flatMap(\.later).map(\.due) == [later])
            let events = try await test.due("mail").map { try Event(decoding: $0.event) }
            guard case .task(let draft)? = events.first?.content else { throw DecodingFailure("no task") }
            #expect(draft == TaskDraft(queue: "mail", body: [1, 2], headers: ["a": "b"]))
            #expect(events.map(\.chain) == [["f"]])
            test.clock.advance(seconds: 60)
            let delayed = try await test.due("mail").map { try Event(decoding: $0.event) }
            #expect(delayed.map(\.chain) == [["f"], ["f"]])
            // Without writes as well.
            try await test.commit(effects: [task()])
            #expect(try await test.due("mail").count == 3)
            #expect(try test.problems().isEmpty)
        }
    }

    @Test(arguments: EngineKind.allCases) func aTasksNameIsTakenUntilADayAfterItsEnd(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            try await test.commit(effects: [task("receipt-1"), task("receipt-1", queue: "print")])
            func enqueueAgain() async -> DocumentError? {
                await refusal {
                    try await test.commit([test.write("a/b", 1)], effects: [task("x"), task("receipt-1")])
                }
            }
            let error = await enqueueAgain()
            #expect(error?.code == .alreadyExists)
            #expect(error?.message.contains("receipt-1") == true)
            // Nothing of the commit was done: neither the document nor the other task nor its name.
            #expect(try await test.get("a/b") == nil)
            #expect(try await test.due("mail").count == 1)
            // It lives as long as it may be tried.
            test.clock.advance(seconds: 3 * 86_400)
            #expect(await enqueueAgain()?.code == .alreadyExists)
            try await test.end(test.take("mail"), .dead(DeliveryFailure("no")))
            #expect(await enqueueAgain()?.code == .alreadyExists)
            _ = try await test.store.outbox.drop(try await test.dead().map(\.id))
            test.clock.advance(seconds: 86_399)
            #expect(await enqueueAgain()?.code == .alreadyExists)
            test.clock.advance(seconds: 1)
            #expect(await enqueueAgain() == nil)
            #expect(try await test.due("mail").count == 2)
            #expect(try test.problems().isEmpty)
            // The sweep takes away what is free, and only that.
            for _ in 0..<2 { try await test.end(test.take("mail")) }
            test.clock.advance(seconds: 2 * 86_400)
            try await test.set("a/c", [:])
            try test.store.engine.makeReadSession().read { reader throws in
                #expect(try reader.count(.deliveries, KeyRange(prefix: [6])) == 0)
                #expect(try reader.count(.deliveries, KeyRange(prefix: [5])) == 1)
            }
            #expect(try test.problems().isEmpty)
        }
    }

    @Test(arguments: EngineKind.allCases)
    func aNameThatWasUsedWhileTheClockWasAheadIsFreeADayAfterItWasSetBack(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            let right = test.clock.timestamp()
            test.clock.setWall(right.adding(seconds: 365 * 86_400))
            try await test.commit(effects: [task("receipt-1")])
            try await test.end(test.take("mail"))
            test.clock.setWall(right)
            // The sweep comes once a second.
            test.clock.advance(seconds: 1)
            try await test.set("a/b", [:])
            let error = await refusal { try await test.commit(effects: [task("receipt-1")]) }
            #expect(error?.code == .alreadyExists)
            test.clock.advance(seconds: 86_400)
            try await test.commit(effects: [task("receipt-1")])
            #expect(try test.problems().isEmpty)
        }
    }

    @Test func aTransactionalEndFreesItsName() async throws {
        try await withStore(started()) { test in
            try await test.commit(effects: [task("n")])
            let lease = try await test.take("mail")
            // In the commit that ends it the name is still its own.
            let context = OperationContext(delivery: lease)
            let error = await refusal { try await test.commit(effects: [task("n")], completing: [1], context: context) }
            #expect(error?.code == .alreadyExists)
            try await test.commit(effects: [], completing: [1], context: context)
            test.clock.advance(seconds: 86_401)
            try await test.commit(effects: [task("n")])
            #expect(try test.problems().isEmpty)
        }
    }

    @Test func impossibleEffectsRefuseTheWholeCommit() async throws {
        try await withStore(started()) { test in
            var long = TaskDraft(queue: "mail", body: [UInt8](repeating: 0, count: 1_048_577))
            long.name = "n"
            let cases: [([Effect], StatusCode, String)] = [
                ([task(queue: "fax")], .notFound, "there are mail, print"),
                ([task("n"), task("n")], .alreadyExists, "two tasks"),
                ([.enqueue(long)], .invalidArgument, "1 MiB"),
                ([task("a b")], .invalidArgument, "1 to 500 letters"),
                ([task("")], .invalidArgument, "1 to 500 letters"),
                ([task(String(repeating: "n", count: 501))], .invalidArgument, "1 to 500 letters"),
                (
                    [.enqueue(TaskDraft(queue: "mail", body: [], dispatchDeadline: 14))], .invalidArgument,
                    "15 s to 1800 s"
                ),
                ([task(at: test.clock.timestamp().adding(seconds: 30 * 86_400 + 1))], .invalidArgument, "30 days"),
                ([task(at: Timestamp(seconds: .max, nanoseconds: 0))], .invalidArgument, "years 1 to 9999"),
                ([.deleteTask("n", queue: "fax")], .notFound, "there are mail, print"),
                ([.deleteTask("a b", queue: "mail")], .invalidArgument, "1 to 500 letters"),
                ([.publish(CloudEvent(type: "", source: "/x"))], .invalidArgument, "needs a type"),
                (
                    [.publish(CloudEvent(type: "t", source: "/x", attributes: ["Big": ""]))], .invalidArgument,
                    "lower-case"
                ),
                (Array(repeating: task(), count: 1001), .invalidArgument, "1,000"),
            ]
            for (effects, code, words) in cases {
                let error = await refusal { try await test.commit([test.write("a/b", 1)], effects: effects) }
                #expect(error?.code == code)
                #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
            }
            #expect(try await test.get("a/b") == nil)
            let client = OperationContext(policy: AllowEverything())
            #expect(
                await refusal { try await test.commit(effects: [task()], context: client) }?.code == .permissionDenied)
            let readOnly = try await test.begin(.readOnly(at: nil))
            let error = await refusal { _ = try await test.store.commit([], transaction: readOnly, effects: [task()]) }
            #expect(error?.code == .invalidArgument)
            #expect(try test.outboxRows() == 0)
        }
    }

    /// A transaction that lost enqueues nothing.
    @Test func aTaskExistsOnlyIfItsTransactionDoes() async throws {
        try await withStore(started()) { test in
            try await test.set("a/b", ["n": .integer(1)])
            let id = try await test.begin()
            _ = try await test.get("a/b", in: id)
            try await test.set("a/b", ["n": .integer(2)])
            let lost = await refusal { _ = try await test.store.commit([], transaction: id, effects: [task("n")]) }
            #expect(lost?.code == .aborted)
            #expect(try test.outboxRows() == 0)
            try await test.commit(effects: [task("n")])
            #expect(try await test.due("mail").count == 1)
        }
    }

    @Test(arguments: EngineKind.allCases) func eventsReachThoseWhoseFiltersTheyFit(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            let vip = CloudEvent(
                type: "order.paid", source: "/shop", id: "e1", dataContentType: "application/json",
                attributes: ["level": "vip"], data: [7])
            try await test.commit(effects: [
                .publish(vip), .publish(CloudEvent(type: "order.paid", source: "/other", attributes: ["level": "vip"])),
                .publish(CloudEvent(type: "order.lost", source: "/shop")),
            ])
            #expect(
                try await test.store.outbox.counts().map { "\($0.function) \($0.pending)" } == [
                    "all 2", "json 1", "vip 1",
                ])
            let event = try Event(decoding: try #require(try await test.due("vip").first).event)
            #expect(event.content == .custom(vip))
            for _ in 0..<2 { try await test.end(test.take("all")) }
            try await test.end(test.take("vip"))
            try await test.end(test.take("json"))
            #expect(try test.outboxRows() == 0)
        }
    }
}

private struct AllowEverything: AccessPolicy {
    func check(_ access: Access, in view: AccessView) {}
}
