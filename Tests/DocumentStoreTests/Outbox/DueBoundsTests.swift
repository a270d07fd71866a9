@testable import CommitPipeline
import DocumentModel
@testable import DocumentStore
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// Looks for due deliveries begin where the first may be, and miss none.
struct DueBoundsTests {
    private let bounds = DueBounds()

    private func time(_ number: Int64) -> Timestamp { Timestamp(microseconds: number) }
    private func range(from number: Int64) -> KeyRange {
        KeyRange(lower: OutboxKey.dueBound(time(number), "f"), upper: OutboxKey.due(of: "f").upper)
    }

    @Test func aLookBeginsWhereTheLastFoundTheFirst() {
        _ = bounds.begin("f")
        bounds.end("f", first: time(5))
        #expect(bounds.begin("f") == range(from: 5))
        #expect(bounds.begin("g").lower == OutboxKey.dueBound(time(.min), "g"))
        bounds.end("f", first: DueBounds.never)
        #expect(bounds.begin("f") == range(from: .max))
        bounds.end("f", first: nil)
        #expect(bounds.begin("f") == range(from: .max))
    }

    @Test func whatIsStoredIsFound() {
        _ = bounds.begin("f")
        bounds.end("f", first: time(5))
        bounds.stored(["f": time(7), "g": time(1)])
        #expect(bounds.begin("f") == range(from: 5))
        bounds.stored(["f": time(3)])
        #expect(bounds.begin("f") == range(from: 3))
    }

    @Test func whatIsStoredDuringALookIsFoundByTheNext() {
        _ = bounds.begin("f")
        bounds.stored(["f": time(3)])
        _ = bounds.begin("f")
        bounds.end("f", first: time(5))
        // The second look's state may be one without it, too.
        bounds.end("f", first: time(9))
        #expect(bounds.begin("f") == range(from: 3))
        // Now nothing is in progress that may lack it.
        bounds.end("f", first: time(5))
        #expect(bounds.begin("f") == range(from: 5))
    }

    /// Who is notified may look at once.
    @Test func theBoundIsLoweredBeforeABatchIsAnnounced() async throws {
        try await withStore { test in
            test.store.routeEvents(documents: [try .init("f", .written, "a/{id}")])
            _ = try await test.due("f")
            let lower = Mutex<[[UInt8]]>([])
            test.store.outbox.onChanges { [bounds = test.store.outbox.dueBounds] _ in
                lower.withLock { $0.append(bounds.begin("f").lower) }
                bounds.end("f", first: nil)
            }
            try await test.set("a/b", [:])
            let due = try #require(try await test.due("f").first?.delivery.due)
            #expect(lower.withLock { $0 } == [OutboxKey.dueBound(due, "f")])
        }
    }

    /// Random outcomes, requeues, and repairs. After each step the page is what a scan of all finds, and the rows are right.
    @Test(.endsHangs, arguments: EngineKind.allCases) func pagesHaveWhatAScanFinds(kind: EngineKind) async throws {
        try await FuzzRounds.run("due deliveries on \(kind)", count: kind == .memory ? 20 : 4) { random, seed in
            try await withStore(kind) { test in
                try await Self.run(test, &random, seed)
            }
        }
    }

    private static func run(_ test: TestStore, _ random: inout SeededGenerator, _ seed: UInt64) async throws {
        test.store.routeEvents(
            documents: [
                try .init("f", .written, "a/{id}"), try .init("f", .written, "b/{id}", isOrdered: true),
                try .init("g", .written, "a/{id}"),
            ])
        for step in 0..<60 {
            let place: Comment = "seed \(seed), step \(step)"
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                let collection = random.once(in: 2) ? "a" : "b"
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    try await test.set(
                        "\(collection)/d\(Int.random(in: 0..<3, using: &random))", ["n": .integer(Int64(step))])
                }
            case 2, 3:
                for stored in try await test.due("f") where random.once(in: 2) {
                    guard let lease = test.store.outbox.lease(stored.delivery.id) else { continue }
                    let later = test.clock.timestamp().adding(seconds: Int64.random(in: -5...20, using: &random))
                    let outcomes: [DeliveryOutcome] = [
                        .succeeded, .retry(at: later, DeliveryFailure("no")), .dead(DeliveryFailure("no")),
                    ]
                    try await test.end(lease, outcomes[Int.random(in: 0..<3, using: &random)])
                }
            case 4:
                let dead = try await test.store.outbox.deliveries(areDead: random.once(in: 2), limit: 3)
                _ = try await test.store.outbox.requeue(dead.map(\.id))
            default:
                let lost = try await test.due("f").first?.delivery
                guard let lost, let due = lost.due else { continue }
                try test.store.engine.write { try $0.delete(.deliveries, OutboxKey.due(due, lost.id)) }
                _ = try await test.due("f")
                _ = try await test.store.outbox.repair()
            }
            if random.once(in: 3) { test.clock.advance(by: .seconds(Int.random(in: 1...10, using: &random))) }
            for function in ["f", "g"] {
                let now = test.clock.timestamp()
                var expected: [DeliveryID] = []
                var (first, next) = (Timestamp?.none, Timestamp?.none)
                try test.store.engine.makeReadSession().read { storage in
                    try storage.scanKeys(.deliveries, OutboxKey.due(of: function), reverse: false) { key in
                        let due = try OutboxKey.dueTime(key)
                        first = first ?? due
                        if due > now {
                            next = due
                            return false
                        }
                        expected.append(DeliveryID(event: try OutboxKey.event(at: key), function: function))
                        return true
                    }
                }
                let page = try await test.store.outbox.dueDeliveries(
                    of: function, at: now, except: [], limit: .max, maxBytes: .max)
                #expect(page.deliveries.map(\.delivery.id) == expected, place)
                #expect(page.nextDue == next, place)
                // The next look begins where this one found the first.
                let bounds = test.store.outbox.dueBounds
                #expect(bounds.begin(function).lower == OutboxKey.dueBound(first ?? DueBounds.never, function), place)
                bounds.end(function, first: nil)
            }
            #expect(try test.problems() == [], place)
        }
    }
}
