@testable import CommitPipeline
import TestSupport
import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import Synchronization
import Testing

/// Which commits leave which deliveries.
struct TriggerTests {
    private func started(_ kind: EngineKind) throws -> TestStore {
        let test = try TestStore(kind)
        test.store.routeEvents(
            documents: [
                try .init("born", .created, "users/{uid}"), try .init("changed", .updated, "users/{uid}"),
                try .init("gone", .deleted, "users/{uid}"), try .init("any", .written, "users/{uid}"),
                try .init("orders", .written, "{up=**}/orders/{id}"),
            ])
        return test
    }

    @Test(arguments: EngineKind.allCases) func eachFunctionIsToldOfItsChanges(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            try await test.set("users/ada", ["n": .integer(1)])
            try await test.set("users/ada", ["n": .integer(2)])
            try await test.commit([Write(path: try DocumentPath("users/ada"), operation: .delete)])
            try await test.set("users/ada/orders/o", ["n": .integer(5)])
            try await test.set("people/bob", ["n": .integer(6)])
            #expect(try await test.delivered("born") == ["users/ada >1"])
            #expect(try await test.delivered("changed") == ["users/ada 1>2"])
            #expect(try await test.delivered("gone") == ["users/ada 2>"])
            #expect(try await test.delivered("any") == ["users/ada >1", "users/ada 1>2", "users/ada 2>"])
            #expect(try await test.delivered("orders") == ["users/ada/orders/o >5"])
            #expect(try test.problems().isEmpty)
        }
    }

    @Test(arguments: EngineKind.allCases) func anEventTellsWhoMadeItWhenAndAfterWhom(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            let context = OperationContext(auth: EventAuth(.appUser, id: "ada"), chain: ["first", "second"])
            let result = try await test.commit(
                [test.write("users/b", 1), test.write("users/a", 2)], context: context)
            let events = try await test.due("any").map { try Event(decoding: $0.event) }
            #expect(events.map(\.auth) == [EventAuth(.appUser, id: "ada"), EventAuth(.appUser, id: "ada")])
            #expect(events.map(\.chain) == [["first", "second"], ["first", "second"]])
            #expect(events.map(\.time) == [result.commitTime, result.commitTime])
            // Of one commit, in the order of its writes.
            #expect(events.map(\.id) == [0, 1].map { EventID(version: result.commitTime.microseconds, ordinal: $0) })
            #expect(try await test.delivered("any") == ["users/b >1", "users/a >2"])
        }
    }

    @Test(arguments: EngineKind.allCases) func aWriteThatChangesNothingTellsNobody(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            try await test.set("users/ada", ["n": .integer(1)])
            let lease = try await test.take("any")
            try await test.end(lease)
            try await test.set("users/ada", ["n": .integer(1)])
            try await test.commit([Write(path: try DocumentPath("users/missing"), operation: .delete)])
            try await test.commit([
                test.write("users/brief", 1), Write(path: try DocumentPath("users/brief"), operation: .delete),
            ])
            #expect(try await test.due("any").isEmpty)
            #expect(try await test.due("changed").isEmpty)
        }
    }

    @Test(arguments: EngineKind.allCases) func aRefusedCommitLeavesNoTraceInItsBatch(kind: EngineKind) async throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        let store = try DocumentStore(engine: engine, now: ManualClock().timestamp)
        store.routeEvents(documents: [try .init("any", .written, "a/{id}")])
        let news = NewsLog(store)
        for (id, precondition) in [("b", nil), ("c", Write.Precondition.exists(true)), ("d", nil)] {
            let write = Write(path: try DocumentPath("a/\(id)"), operation: .set([:]), precondition: precondition)
            store.submit([write])
        }
        try store.start()
        await store.shutdown()
        // One batch tells at once of all that it holds.
        let reported = news.take()
        #expect(reported.count == 1)
        #expect(reported.flatMap(\.due).count == 2)
        let reopened = try TestStore(engine: engine)
        #expect(try await reopened.due("any").count == 2)
        #expect(try reopened.problems().isEmpty)
        await reopened.store.shutdown()
        withExtendedLifetime(directory) {}
    }

    @Test func aFailedBatchLeavesNoDeliveryAndTellsNobody() async throws {
        let engine = FailingEngine()
        try await withStore(engine: engine) { test in
            test.store.routeEvents(documents: [try .init("any", .written, "a/{id}")])
            let news = NewsLog(test.store)
            engine.fails.withLock { $0 = true }
            #expect(await refusal { try await test.set("a/b", [:]) }?.code == .unavailable)
            engine.fails.withLock { $0 = false }
            #expect(try await test.due("any").isEmpty)
            #expect(news.take().isEmpty)
            try await test.set("a/c", [:])
            #expect(try await test.delivered("any") == ["a/c >?"])
            #expect(news.take().flatMap(\.due).count == 1)
        }
    }

    @Test(arguments: EngineKind.allCases) func functionsShareAnEventThatGoesWithTheLast(kind: EngineKind) async throws {
        try await withStore(kind) { test in
            let functions = ["f1", "f2", "f3"]
            test.store.routeEvents(
                documents: try functions.map { try .init($0, .written, "a/{id}") })
            try await test.set("a/b", [:])
            let events = try await test.store.outbox.delivery(try #require(try await test.due("f1").first).delivery.id)
            #expect(events != nil)
            // Three deliveries with their times, and one event.
            #expect(try test.outboxRows() == 7)
            try await test.end(test.take("f2"))
            try await test.end(test.take("f1"), .dead(DeliveryFailure("no")))
            #expect(try test.outboxRows() == 4)
            #expect(try await test.due("f3").first?.event == events?.event)
            try await test.end(test.take("f3"))
            // The dead letter keeps it.
            let letter = try #require(try await test.dead().first)
            #expect(try await test.store.outbox.delivery(letter.id)?.event == events?.event)
            #expect(try test.problems().isEmpty)
            #expect(try await test.store.outbox.drop([letter.id]) == 1)
            #expect(try test.outboxRows() == 0)
        }
    }

    @Test func aFunctionIsToldOnceWhateverNumberOfItsPatternsFit() async throws {
        try await withStore { test in
            test.store.routeEvents(
                documents: [
                    try .init("f", .written, "a/{id}", isOrdered: true), try .init("f", .created, "{all=**}"),
                ])
            try await test.set("a/b", [:])
            let lease = try await test.take("f")
            try await test.end(lease)
            #expect(try test.outboxRows() == 0)
        }
    }

    @Test(arguments: EngineKind.allCases) func whatIsImportedOrClearedTellsNobody(kind: EngineKind) async throws {
        try await withStore(started(kind)) { test in
            var taken = StoreImport(test.store)
            for id in ["ada", "bob"] { try await taken.add(DocumentPath("users/\(id)"), ["n": .integer(1)]) }
            try await taken.finish()
            #expect(taken.imported == 2)
            #expect(try await test.store.clear() == 2)
            #expect(try test.outboxRows() == 0)
        }
    }

    @Test(arguments: EngineKind.allCases) func deliveriesAreThereAfterARestart(kind: EngineKind) async throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        let test = try TestStore(engine: engine)
        test.store.routeEvents(documents: [try .init("any", .written, "a/{id}")])
        try await test.set("a/b", ["n": .integer(1)])
        // Nobody who had it lives any more.
        _ = try await test.take("any")
        await test.store.shutdown()
        let reopened = try TestStore(engine: engine)
        let lease = try await reopened.take("any")
        #expect(try await reopened.delivered("any") == ["a/b >1"])
        #expect(try await reopened.end(lease) == 1)
        #expect(try reopened.outboxRows() == 0)
        await reopened.store.shutdown()
        withExtendedLifetime(directory) {}
    }

    @Test func manyPatternsAreMatchedAtOnce() async throws {
        try await withStore { test in
            var triggers = try (0..<1000).map { try DocumentTrigger("f\($0)", .written, "c\($0)/{id}") }
            triggers.append(try .init("deep", .written, "c7/{id}/orders/{o}"))
            test.store.routeEvents(documents: triggers)
            try await test.set("c7/x", [:])
            try await test.set("c7/x/orders/o", [:])
            try await test.set("c70", "x")
            let counts = try await test.store.outbox.counts()
            #expect(counts.map(\.function) == ["deep", "f7", "f70"])
            #expect(counts.map(\.pending) == [1, 1, 1])
        }
    }
}

extension TestStore {
    fileprivate func set(_ collection: String, _ id: String) async throws {
        try await set("\(collection)/\(id)", [:])
    }
}
