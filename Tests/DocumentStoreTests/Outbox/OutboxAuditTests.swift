@testable import CommitPipeline
import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import TestSupport
import Synchronization
import Testing

/// What a check finds wrong with deliveries, and what a repair makes of it.
struct OutboxAuditTests {
    /// Four changes of one document in a line, one event for two functions, a named task and a name that was used.
    private func filled(_ kind: EngineKind) async throws -> TestStore {
        let test = try TestStore(kind)
        test.store.routeEvents(
            by: EventRoutes(queues: ["q"]),
            documents: [
                try .init("f", .written, "a/{id}", isOrdered: true), try .init("g", .created, "a/{id}"),
                try .init("h", .created, "b/{id}"),
            ])
        for number in 1...4 as ClosedRange<Int64> { try await test.set("a/x", ["n": .integer(number)]) }
        for number in 1...3 as ClosedRange<Int64> { try await test.set("b/d\(number)", ["n": .integer(number)]) }
        for name in ["used", "held"] {
            try await test.commit(effects: [.enqueue(TaskDraft(queue: "q", name: name, body: []))])
        }
        try await test.end(test.take("q"))
        try await test.end(test.take("h"), .dead(DeliveryFailure("no")))
        return test
    }

    private func keys(_ test: TestStore, _ kind: UInt8) throws -> [[UInt8]] {
        try test.store.engine.makeReadSession().read { reader in
            var keys: [[UInt8]] = []
            try reader.scanKeys(.deliveries, KeyRange(prefix: [kind]), reverse: false) { key in
                keys.append(key)
                return true
            }
            return keys
        }
    }

    private func has(_ problems: [String], _ words: String) -> Bool { problems.contains { $0.contains(words) } }

    @Test(arguments: EngineKind.allCases) func aSoundOutboxHasNoProblems(kind: EngineKind) async throws {
        try await withStore(await filled(kind)) { test in
            var result = CheckResult()
            result = try test.store.check(report: { Issue.record("\($0)") }, progress: { _ in })
            #expect(result.deliveries == 9)
            #expect(result.events == 8)
            #expect(!result.isOutboxRepairable)
            #expect(try await test.store.outbox.repair() == 0)
        }
    }

    /// What follows from deliveries is lost or is there too much; all is due again, once and in order.
    @Test(arguments: EngineKind.allCases) func rowsThatFollowFromDeliveriesAreRebuilt(kind: EngineKind) async throws {
        try await withStore(await filled(kind)) { test in
            let (due, lines) = (try keys(test, 2), try keys(test, 4))
            let (names, expiries) = (try keys(test, 5), try keys(test, 6))
            try test.store.engine.write { writer in
                for key in due { try writer.delete(.deliveries, key) }
                try writer.delete(.deliveries, lines[1])
                for key in expiries { try writer.delete(.deliveries, key) }
                let nobody = DeliveryID(event: EventID(version: 5, ordinal: 5), function: "f")
                try writer.put(.deliveries, OutboxKey.due(Timestamp(microseconds: 7), nobody), [])
                try writer.put(.deliveries, OutboxKey.ordered([9], of: "f") + OutboxKey.event(nobody.event), [])
                try writer.put(.deliveries, OutboxKey.taskNameExpiries.key(5, of: names[0]), [])
                try writer.put(
                    .deliveries, OutboxKey.taskName("lost", of: "q"), TaskName(event: nobody.event).row)
                try writer.put(
                    .events, OutboxKey.event(nobody.event),
                    StoredEvent.encode(
                        Event(
                            id: nobody.event, time: Timestamp(microseconds: 5), auth: EventAuth(.system),
                            content: .schedule(job: "h", isManual: false)
                        ).encoded, for: ["h"]))
            }
            let problems = try test.problems()
            for words in [
                "would never be tried", "is not in the ordering queue", "a due time belongs to no delivery",
                "a place of no delivery",
                "the name used in the queue q would never be free", "an expiry of task names belongs to no name",
                "the name lost in the queue q is taken by no task", "has no delivery",
            ] {
                #expect(has(problems, words), "\(words)")
            }
            let news = NewsLog(test.store)
            #expect(try await test.store.outbox.repair() >= problems.count)
            #expect(Set(news.take().flatMap(\.later).map(\.function)).isSuperset(of: ["f", "g", "h"]))
            #expect(try test.problems().isEmpty)
            for expected in ["a/x >1", "a/x 1>2", "a/x 2>3", "a/x 3>4"] {
                #expect(try await test.delivered("f") == [expected])
                try await test.end(test.take("f"))
            }
            #expect(try await test.delivered("h") == ["b/d2 >2", "b/d3 >3"])
        }
    }

    @Test(arguments: EngineKind.allCases) func aDeliveryThatCantBeReadIsMadeFromItsEvent(kind: EngineKind) async throws
    {
        try await withStore(await filled(kind)) { test in
            let (pending, dead) = (try keys(test, 1), try keys(test, 3))
            try test.store.engine.write { writer in
                for key in pending + dead { try writer.put(.deliveries, key, [9, 9]) }
            }
            // Nobody else is harmed: commits and what is due of others go on, and the damaged wait.
            try await test.set("a/x", ["n": .integer(5)])
            #expect(try await test.due("h").isEmpty)
            #expect(try await test.store.outbox.deliveries(areDead: true, limit: 10).isEmpty)
            #expect(try test.problems().count { $0.contains("can't be read") } == pending.count + dead.count)
            try await test.store.outbox.repair()
            #expect(try test.problems().isEmpty)
            #expect(try await test.delivered("h") == ["b/d2 >2", "b/d3 >3"])
            #expect(try await test.dead("h").count == 1)
            for expected in ["a/x >1", "a/x 1>2", "a/x 2>3", "a/x 3>4", "a/x 4>5"] {
                #expect(try await test.delivered("f") == [expected])
                try await test.end(test.take("f"))
            }
            #expect(try await test.due("q").first?.delivery.taskName == "held")
        }
    }

    @Test(arguments: EngineKind.allCases, [false, true])
    func aTaskThatIsMadeFromItsEventKeepsItsTime(kind: EngineKind, isMissing: Bool) async throws {
        try await withStore(await filled(kind)) { test in
            let time = test.clock.timestamp().adding(seconds: 3600)
            try await test.commit(effects: [
                .enqueue(TaskDraft(queue: "q", name: "late", body: [], scheduleTime: time))
            ])
            let task = try #require(try await test.store.outbox.delivery(ofTask: "late", in: "q")?.delivery)
            try #require(task.due == time)
            try test.store.engine.write { writer in
                let row = OutboxKey.pending(task.id)
                if isMissing { try writer.delete(.deliveries, row) } else { try writer.put(.deliveries, row, [9, 9]) }
            }
            #expect(try await test.store.outbox.repair() > 0)
            #expect(try test.problems().isEmpty)
            let made = try #require(try await test.store.outbox.delivery(ofTask: "late", in: "q")?.delivery)
            #expect(made.lastError != nil)
            #expect(made.due == time)
            #expect(try await test.due("q").map(\.delivery.taskName) == ["held"])
        }
    }

    /// Its place in the ordering queue says what it waits for.
    @Test(arguments: EngineKind.allCases, [[1], [0, 2], [3]])
    func aDeliveryThatCantBeReadKeepsItsTurn(kind: EngineKind, damaged: [Int]) async throws {
        try await withStore(await filled(kind)) { test in
            let ids = try await test.store.outbox.deliveries(areDead: false, function: "f", limit: 10).map(\.id)
            try test.store.engine.write { writer in
                for index in damaged { try writer.put(.deliveries, OutboxKey.pending(ids[index]), [9, 9]) }
            }
            try await test.store.outbox.repair()
            #expect(try test.problems().isEmpty)
            for expected in ["a/x >1", "a/x 1>2", "a/x 2>3", "a/x 3>4"] {
                #expect(try await test.delivered("f") == [expected])
                try await test.end(test.take("f"))
            }
            #expect(try await test.delivered("f").isEmpty)
        }
    }

    /// What is left of a delivery says that it hasn't ended: its due time, its place in an ordering queue, or both.
    @Test(arguments: [[0], [1], [2, 3]]) func aMissingDeliveryIsMadeFromItsEvent(missing: [Int]) async throws {
        try await withStore(await filled(.memory)) { test in
            let ids = try await test.store.outbox.deliveries(areDead: false, function: "f", limit: 10).map(\.id)
            let free = try await test.store.outbox.deliveries(areDead: false, function: "h", limit: 1).map(\.id)
            try test.store.engine.write { writer in
                for id in missing.map({ ids[$0] }) + free { try writer.delete(.deliveries, OutboxKey.pending(id)) }
            }
            let problems = try test.problems()
            for id in missing.map({ ids[$0] }) + free {
                #expect(has(problems, "the delivery of \(id.event) to \(id.function) is missing"))
            }
            try await test.store.outbox.repair()
            #expect(try test.problems().isEmpty)
            #expect(try await test.delivered("h") == ["b/d2 >2", "b/d3 >3"])
            for expected in ["a/x >1", "a/x 1>2", "a/x 2>3", "a/x 3>4"] {
                #expect(try await test.delivered("f") == [expected])
                try await test.end(test.take("f"))
            }
        }
    }

    @Test(arguments: EngineKind.allCases) func aDeliveryWithoutAnEventGoes(kind: EngineKind) async throws {
        try await withStore(await filled(kind)) { test in
            try test.store.engine.write { writer in
                var events: [[UInt8]] = []
                try writer.scanKeys(.events, .all, reverse: false) { key in
                    events.append(key)
                    return true
                }
                // The first is that of a change for two functions, the second of the next in line.
                try writer.delete(.events, events[0])
                var row = try writer.get(.events, events[1]) ?? []
                row[row.count - 1] ^= 1
                try writer.put(.events, events[1], row)
            }
            let problems = try test.problems()
            #expect(problems.count { $0.contains("has no event that can be read") } == 3)
            #expect(has(problems, "an event can't be read: an event's checksum is another"))
            #expect(try await test.delivered("f").isEmpty)
            // A job that waits for its run's end would wait for ever.
            let ends = Mutex<[DeliveryEnd]>([])
            test.store.outbox.onEnds { new in ends.withLock { $0 += new } }
            try await test.store.outbox.repair()
            #expect(ends.withLock { !$0.isEmpty && $0.allSatisfy { $0.outcome == .dropped } })
            #expect(try test.problems().isEmpty)
            #expect(try await test.delivered("f") == ["a/x 2>3"])
            #expect(try await test.delivered("g").isEmpty)
        }
    }

    @Test(arguments: EngineKind.allCases) func anOrderingQueueHasOnePendingDelivery(kind: EngineKind) async throws {
        try await withStore(await filled(kind)) { test in
            let all = try await test.store.outbox.deliveries(areDead: false, function: "f", limit: 10)
            func put(_ states: [Delivery.State]) throws {
                try test.store.engine.write { writer in
                    for (delivery, state) in zip(all, states) {
                        guard let found = try writer.delivery(delivery.id) else { continue }
                        var changed = found
                        changed.state = state
                        try writer.deleteRows(of: found)
                        try writer.putRows(of: changed)
                    }
                }
            }
            let due = Delivery.State.pending(due: test.clock.timestamp())
            try put([.waiting, .waiting, .waiting, .waiting])
            #expect(has(try test.problems(), "no delivery is pending"))
            try await test.store.outbox.repair()
            #expect(try await test.delivered("f") == ["a/x >1"])
            try put([.waiting, due, due, .waiting])
            #expect(has(try test.problems(), "2 deliveries are pending at once"))
            // What is worked on is left as it is.
            let lease = try #require(test.store.outbox.lease(all[2].id))
            #expect(try await test.store.outbox.repair() == 0)
            test.store.outbox.release(lease)
            try await test.store.outbox.repair()
            #expect(try await test.delivered("f") == ["a/x 1>2"])
            #expect(try test.problems().isEmpty)
        }
    }

    @Test func endsOfDamagedDeliveriesHarmNobody() async throws {
        try await withStore(await filled(.memory)) { test in
            let lease = try await test.take("g")
            try test.store.engine.write { try $0.put(.deliveries, OutboxKey.pending(lease.id), [9]) }
            async let ended = refusal { try await test.end(lease) }
            async let set: Void = { _ = try await test.set("c/d", [:]) }()
            #expect(await ended?.code == .dataLoss)
            try await set
            let found = await refusal { _ = try await test.store.outbox.delivery(lease.id) }
            #expect(found?.message.hasPrefix("a delivery or its event can't be read") == true)
            let error = await refusal {
                try await test.commit([], effects: [], completing: [1], context: OperationContext(delivery: lease))
            }
            #expect(error?.code == .dataLoss)
        }
    }

    /// The check goes on with the other rows.
    @Test func aPlaceThatIsTooShortIsReported() async throws {
        try await withStore(await filled(.memory)) { test in
            let place = try #require(try keys(test, 4).first)
            let short = Array(place.dropLast(11))
            try test.store.engine.write { try $0.put(.deliveries, short, []) }
            #expect(has(try test.problems(), "a place of no delivery"))
            try await test.store.outbox.repair()
            #expect(try test.problems().isEmpty)
        }
    }
}
