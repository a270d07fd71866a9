@testable import CommitPipeline
import StorageEngine
import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

/// Finding what is due among much.
struct DueDeliveriesTests {
    private static let count = 10_000

    private func filled(_ kind: EngineKind) async throws -> TestStore {
        let test = try TestStore(kind)
        test.store.routeEvents(
            documents: [
                try .init("f", .written, "a/{id}"), try .init("f2", .written, "b/{id}"),
            ])
        for start in stride(from: 0, to: Self.count, by: 500) {
            try await test.commit(
                (start..<start + 500).map { Write(path: try DocumentPath("a/d\($0)"), operation: .set([:])) })
        }
        return test
    }

    @Test(arguments: EngineKind.allCases) func pagesGoThroughAllThatIsDueOnce(kind: EngineKind) async throws {
        try await withStore(filled(kind)) { test in
            // A third of them is due later.
            let (now, later) = (test.clock.timestamp(), test.clock.timestamp().adding(seconds: 50))
            for stored in try await test.due("f", limit: Self.count, maxBytes: 1 << 30).enumerated()
            where stored.offset % 3 == 0 {
                let lease = try #require(test.store.outbox.lease(stored.element.delivery.id))
                test.store.outbox.end(lease, .retry(at: later, DeliveryFailure("no"))) { _ in }
            }
            try await test.set("b/c", [:])
            var taken: Set<EventID> = []
            var pages = 0
            while true {
                let page = try await test.store.outbox.dueDeliveries(
                    of: "f", at: now, except: taken, limit: 700, maxBytes: 1 << 30)
                #expect(page.deliveries.count <= 700)
                #expect(page.deliveries.map(\.delivery.id.event) == page.deliveries.map(\.delivery.id.event).sorted())
                taken.formUnion(page.deliveries.map(\.delivery.id.event))
                pages += 1
                guard page.hasMore else {
                    #expect(page.nextDue == later)
                    break
                }
                #expect(page.nextDue == nil)
            }
            #expect(taken.count == Self.count - (Self.count + 2) / 3)
            #expect(pages == 10)
            let counts = try await test.store.outbox.counts()
            #expect(counts.map(\.function) == ["f", "f2"])
            #expect(counts.map(\.pending) == [Self.count, 1])
            // The store began with the time itself.
            #expect(counts[0].oldest == Timestamp(microseconds: now.microseconds + 1))
            #expect(counts.map(\.firstDue) == [now, now])
            #expect(try test.problems().isEmpty)
        }
    }

    @Test func aPageIsBoundedByTheBytesOfItsEvents() async throws {
        try await withStore { test in
            test.store.routeEvents(documents: [try .init("f", .written, "a/{id}")])
            for number in 0..<10 {
                try await test.set("a/d\(number)", ["b": .bytes([UInt8](repeating: 1, count: 10_000))])
            }
            let now = test.clock.timestamp()
            func page(_ maxBytes: Int, limit: Int = 100) async throws -> (Int, Bool) {
                let page = try await test.store.outbox.dueDeliveries(
                    of: "f", at: now, except: [], limit: limit, maxBytes: maxBytes)
                return (page.deliveries.count, page.hasMore)
            }
            #expect(try await page(0) == (1, true))
            #expect(try await page(25_000) == (3, true))
            #expect(try await page(1_000_000) == (10, false))
            #expect(try await page(1_000_000, limit: 4) == (4, true))
            #expect(try await page(1_000_000, limit: 0) == (0, true))
        }
    }

    @Test(arguments: EngineKind.allCases) func deliveriesAreListedFunctionByFunction(kind: EngineKind) async throws {
        try await withStore(kind) { test in
            test.store.routeEvents(
                documents: try ["f", "f-2", "g"].map { try .init($0, .written, "a/{id}") })
            for number in 0..<5 { try await test.set("a/d\(number)", [:]) }
            for _ in 0..<2 { try await test.end(test.take("f-2"), .dead(DeliveryFailure("no"))) }
            func list(_ areDead: Bool, _ function: String? = nil) async throws -> [String] {
                var listed: [String] = []
                var last: DeliveryID?
                while true {
                    let page = try await test.store.outbox.deliveries(
                        areDead: areDead, function: function, after: last, limit: 3)
                    listed += page.map(\.id.function)
                    guard page.count == 3 else { return listed }
                    last = page.last?.id
                }
            }
            #expect(
                try await list(false).map { $0 } == Array(repeating: "f", count: 5) + Array(repeating: "f-2", count: 3)
                    + Array(repeating: "g", count: 5))
            #expect(try await list(false, "f") == Array(repeating: "f", count: 5))
            #expect(try await list(true) == ["f-2", "f-2"])
            #expect(try await list(true, "g").isEmpty)
            let counts = try await test.store.outbox.counts()
            #expect(counts.map { [$0.pending, $0.dead] } == [[5, 0], [3, 2], [5, 0]])
            #expect(try await test.store.outbox.functions() == ["f", "f-2", "g"])
            #expect(try await test.store.outbox.pendingCount(of: "f-2") == 3)
            _ = try await test.store.outbox.deadLetter(
                try await test.store.outbox.deliveries(areDead: false, limit: 5), because: "")
            #expect(try await test.store.outbox.functions() == ["f-2", "g"])
        }
    }

    /// A key that this program didn't write, or that was damaged, must not hold up what lists functions.
    @Test(arguments: ["", "\u{1}", "a\u{1}", "a\u{1}\u{2}b", "g\u{1}"])
    func namesThatCannotBeReadAreSkipped(name: String) async throws {
        try await withStore { test in
            let known = ["f", "g"]
            test.store.routeEvents(documents: try known.map { try .init($0, .written, "a/{id}") })
            try await test.set("a/b", [:])
            let event = try #require(try await test.due("f").first).delivery.id.event
            try test.store.engine.write { storage in
                for kind in [1, 3] as [UInt8] {
                    try storage.put(.deliveries, [kind] + Array(name.utf8) + [0] + OutboxKey.event(event), [1])
                    try storage.put(.deliveries, [kind, 0xFF, 0xFE], [1])
                }
            }
            try await test.set("a/c", [:])
            #expect(try await test.store.outbox.functions() == known)
            #expect(try await test.store.outbox.counts().map(\.function) == known)
            #expect(try !test.problems().isEmpty)
        }
    }

    /// What doesn't fit into the news is found by asking.
    @Test func newsAreBounded() async throws {
        try await withStore { test in
            test.store.routeEvents(documents: [try .init("f", .written, "a/{id}")])
            let news = NewsLog(test.store)
            let large = [UInt8](repeating: 1, count: 900_000)
            for start in [0, 11] {
                try await test.commit(
                    (start..<start + 11).map {
                        Write(path: try DocumentPath("a/d\($0)"), operation: .set(["b": .bytes(large)]))
                    })
            }
            let reported = news.take()
            #expect(reported.count == 2)
            for news in reported {
                #expect(news.due.count == 10)
                #expect(news.later.map(\.due) == [test.clock.timestamp()])
            }
            #expect(try await test.due("f", maxBytes: 1 << 30).count == 22)
        }
    }
}
