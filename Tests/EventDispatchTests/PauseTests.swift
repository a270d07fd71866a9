import CommitPipeline
import HostTesting
import DocumentModel
import FunctionManifest
import DocumentStore
import EventDelivery
@testable import Workers
@testable import ControlProtocol
@testable import EventDispatch
@testable import EventsAPI
@testable import HostConfiguration
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

@Suite(.endsHangs) struct PauseTests {
    private let call = FunctionManifest.test(
        "call", .callable(.init(cors: .any, enforceAppCheck: false, heartbeatSeconds: nil)))

    @Test func aPausedFunctionKeepsItsDeliveriesOverARestart() async throws {
        let first = try await DispatcherRing([.created("f"), .created("g"), call])
        try await first.service.pause("f")
        try await first.set("items/1")
        _ = await (try first.launcher("g")).next()
        #expect(try first.launcher("f").count == 0)
        let second = try await DispatcherRing([.created("f"), .created("g"), call], after: first)
        #expect(second.service.pausedFunctions.map(\.function) == ["f"])
        try #require(try await second.unleased("f").count == 1)
        #expect(try second.launcher("f").count == 0)
        try await second.service.resume("f")
        #expect(try await second.launcher("f").next().subject == "1")
        #expect(second.service.pausedFunctions.isEmpty)
    }

    @Test func pausingAllIsTheKillSwitchAndLeavesSinglePausesAlone() async throws {
        let ring = try await DispatcherRing([.created("f"), .created("g"), call])
        try await ring.service.pause("g")
        try await ring.service.pause(nil)
        #expect(ring.gates["call"]?.admit() == .paused)
        // A callable has no deliveries, and is paused all the same.
        #expect(try await ring.service.metricsText().contains("functions_paused{function=\"call\"} 1\n"))
        let statistics = DeliveryStatistics(
            try await ring.service.metrics(), pauses: ring.service.pausedFunctions, now: ring.clock.timestamp())
        #expect(
            statistics.functions.map { "\($0.name) \($0.paused ?? "")" }
                == ["call everythingPaused", "f everythingPaused", "g paused"])
        #expect(
            ring.service.pausedFunctions.map { "\($0.function) \($0.reason)" }
                == ["call everythingPaused", "f everythingPaused", "g paused"])
        try await ring.set("items/1")
        #expect(try ring.launcher("f").count == 0)
        try await ring.service.resume(nil)
        #expect(ring.gates["call"]?.admit() == nil)
        #expect(try await ring.service.metricsText().contains("functions_paused{function=\"call\"} 0\n"))
        #expect(try await ring.launcher("f").next().subject == "1")
        #expect(try ring.launcher("g").count == 0)
        #expect(ring.service.pausedFunctions.map(\.function) == ["g"])
    }

    @Test func whatPausesAndResumesAtOnceLeaveIsWhatIsRemembered() async throws {
        let ring = try await DispatcherRing([.created("f")])
        for _ in 1...500 {
            try await ring.service.pause("f")
            async let paused: Void = ring.service.pause("f")
            async let resumed: Void = ring.service.resume("f")
            _ = try await (paused, resumed)
            let remembered = try await EventRecords.pauses(ring.store).keys.sorted()
            #expect(ring.service.pausedFunctions.map(\.function) == remembered)
        }
    }

    @Test func unknownFunctionsAreNamed() async throws {
        let ring = try await DispatcherRing([.created("f"), call])
        await #expect(throws: DocumentError(.notFound, "there is no function missing; there are call, f")) {
            try await ring.service.pause("missing")
        }
        await #expect(throws: DocumentError.self) { try await ring.service.resume("missing") }
    }

    @Test func aPausedFunctionsDeliveriesAreKeptForTheirAgeOnly() async throws {
        let retry = EventRetryManifest(maxAgeSeconds: 3600)
        let ring = try await DispatcherRing([.created("dropping"), .created("retrying", retry: retry)])
        try await ring.service.pause(nil)
        try await ring.set("items/1")
        ring.clock.advance(seconds: 3500)
        try await ring.set("items/2")
        ring.clock.advance(seconds: 200)
        await ring.service.sweep()
        #expect(try await ring.pending("retrying").count == 1)
        let dead = try #require(try await ring.dead("retrying").first)
        #expect(dead.lastError == "retrying is paused, and it has waited longer than 3600 s")
        #expect(try await ring.pending("dropping").count == 2)
        ring.clock.advance(seconds: 86_400)
        await ring.service.sweep()
        #expect(try await ring.pending("dropping").isEmpty)
        #expect(try await ring.dead("dropping").count == 2)
        let metrics = try await ring.service.metrics()
        #expect(metrics.map(\.counters.deadLetters) == [2, 2])
    }

    @Test func oneFunctionsDamagedRowsDontStopTheSweepOfTheOthers() async throws {
        let log = LogLines()
        let ring = try await DispatcherRing(
            [.created("broken"), .created("f")], on: DamagedScans(of: "broken"), begins: false, logger: log.logger)
        try await ring.service.pause(nil)
        try await ring.set("items/1")
        ring.clock.advance(seconds: 86_500)
        await ring.service.sweep()
        #expect(try await ring.dead("f").count == 1)
        #expect(
            log.all.filter { $0.hasPrefix("waiting deliveries can't be read") } == [
                "waiting deliveries can't be read error=the block can't be read",
                "waiting deliveries can't be read error=the block can't be read function=broken",
            ])
    }

    @Test func oneFunctionsDamagedRowsDontStopTheMetricsOfTheOthers() async throws {
        let log = LogLines()
        let ring = try await DispatcherRing(
            [.created("broken"), .created("f")], on: DamagedScans(of: "broken"), begins: false, logger: log.logger)
        try await ring.set("items/1")
        for _ in 0..<2 {
            let metrics = try await ring.service.metrics()
            #expect(metrics.map(\.function) == ["broken", "f"])
            #expect(metrics.map(\.pending) == [0, 1])
            #expect(metrics.map(\.damage) == ["the block can't be read", nil])
            ring.clock.advance(seconds: 10)
        }
        #expect(
            log.all.filter { $0.hasPrefix("deliveries can't be counted") } == [
                "deliveries can't be counted; see \"functions-host data check\" error=the block can't be read"
                    + " function=broken"
            ])
    }

    @Test func ofOneDocumentsChangesAllThatAreTooOldGoAtOnce() async throws {
        let ring = try await DispatcherRing([.created("f", isOrdered: true)])
        try await ring.service.pause("f")
        for number in 1...450 { try await ring.set("items/a", ["n": .integer(Int64(number))]) }
        ring.clock.advance(seconds: 86_000)
        try await ring.set("items/a", ["n": .integer(0)])
        ring.clock.advance(seconds: 500)
        await ring.service.sweep()
        #expect(try await ring.dead("f").count == 450)
        #expect(try await ring.pending("f").count == 1)
    }

    @Test func whatWasBroughtBackByHandIsYoungAgain() async throws {
        // Without sweeps of its own: one under way would decide by what it read before.
        let ring = try await DispatcherRing([.created("free"), .created("ordered", isOrdered: true)], begins: false)
        try await ring.service.pause(nil)
        for number in 1...2 { try await ring.set("items/a", ["n": .integer(Int64(number))]) }
        ring.clock.advance(seconds: 86_500)
        await ring.service.sweep()
        for (name, count) in [("free", 1), ("ordered", 2)] {
            #expect(try await ring.store.outbox.requeue(try await ring.dead(name).map(\.id)) == count)
        }
        ring.clock.advance(seconds: 86_300)
        await ring.service.sweep()
        #expect(try await ring.dead("free") + ring.dead("ordered") == [])
        ring.clock.advance(seconds: 200)
        await ring.service.sweep()
        #expect(try await ring.pending("free") + ring.pending("ordered") == [])
    }

    @Test func aFunctionThatIsGoneKeepsItsDeliveriesForAWeek() async throws {
        let first = try await DispatcherRing([.created("f")], begins: false)
        try await first.set("items/1")
        let second = try await DispatcherRing([call], after: first)
        second.clock.advance(seconds: 7 * 86_400)
        await second.service.sweep()
        #expect(try await second.pending("f").count == 1)
        second.clock.advance(seconds: 2)
        await second.service.sweep()
        #expect(try await second.dead("f").first?.lastError?.hasPrefix("no function f is served") == true)
        let metrics = try #require(try await second.service.metrics().first)
        #expect(metrics.function == "f" && !metrics.isServed && metrics.counters.deadLetters == 1)
    }

    @Test func aTaskForLaterIsNotTooOldForThat() async throws {
        let ring = try await DispatcherRing([.test("mail", .task(.init()))])
        try await ring.service.pause("mail")
        let due = ring.clock.timestamp().after(seconds: 20 * 86_400)
        try await ring.commit([], [.enqueue(TaskDraft(queue: "mail", body: [], scheduleTime: due))])
        ring.clock.advance(seconds: 21 * 86_400)
        await ring.service.sweep()
        #expect(try await ring.pending("mail").count == 1)
        ring.clock.advance(seconds: 7 * 86_400)
        await ring.service.sweep()
        #expect(try await ring.dead("mail").count == 1)
    }

    @Test func aBudgetPausesUntilTheNextDayAndIsRemembered() async throws {
        var budget = FunctionBudget()
        budget.invocationsPerDay = 5
        let noon = ManualClock.at(secondsOfDay: 43_200)
        let first = try await DispatcherRing([.created("f")], budgets: ["f": budget], clock: noon)
        for number in 1...7 { try await first.set("items/\(number)") }
        let launcher = try first.launcher("f")
        for _ in 1...5 { launcher.end(await launcher.next()) }
        #expect(try await first.unleased("f").count == 2)
        #expect(launcher.count == 5)
        #expect(first.alerts.all.map(\.kind) == [.budgetWarning, .budgetExhausted])
        #expect(first.service.pausedFunctions.map(\.reason) == [.budgetUsedUp])
        await first.service.finish()
        first.service.stop()

        let second = try await DispatcherRing([.created("f")], budgets: ["f": budget], after: first)
        try #require(try await second.unleased("f").count == 2)
        #expect(try second.launcher("f").count == 0)
        second.clock.advance(seconds: 43_200)
        await second.service.care()
        #expect(try await second.launcher("f").next().subject == "6")
        #expect(second.service.pausedFunctions.isEmpty)
    }

    @Test func aBudgetsDayBeginsAnewWhereItsRecordIsDamaged() async throws {
        var budget = FunctionBudget()
        budget.invocationsPerDay = 1
        let first = try await DispatcherRing([.created("f")], budgets: ["f": budget], begins: false)
        try await first.store.outbox.keep([EventRecords.budget(of: "f", [9])])
        let second = try await DispatcherRing([.created("f")], budgets: ["f": budget], after: first)
        try await second.set("items/1")
        #expect(try await second.launcher("f").next().subject == "1")
        #expect(second.gates["f"]?.admit() == .budgetUsedUp)
        // Written again, it can be read.
        await second.service.finish()
        let third = try await DispatcherRing([.created("f")], budgets: ["f": budget], after: second)
        #expect(third.gates["f"]?.admit() == .budgetUsedUp)
    }

    @Test func resumingLetsABudgetBe() async throws {
        var budget = FunctionBudget()
        budget.invocationsPerDay = 1
        let ring = try await DispatcherRing([.created("f")], budgets: ["f": budget])
        for number in 1...3 { try await ring.set("items/\(number)") }
        let launcher = try ring.launcher("f")
        _ = await launcher.next()
        #expect(launcher.count == 1)
        try #require(try await ring.unleased("f").count == 2)
        try await ring.service.resume("f")
        #expect(try await launcher.next().subject == "2")
        #expect(try await launcher.next().subject == "3")
    }

    @Test func resumingOneLetsNoOtherBudgetBe() async throws {
        var budget = FunctionBudget()
        budget.invocationsPerDay = 1
        let ring = try await DispatcherRing([.created("f"), .created("g")], budgets: ["f": budget, "g": budget])
        try await ring.set("items/1")
        for name in ["f", "g"] { _ = await (try ring.launcher(name)).next() }
        #expect(ring.service.pausedFunctions.map(\.function) == ["f", "g"])
        try await ring.service.resume("f")
        #expect(ring.service.pausedFunctions.map(\.function) == ["g"])
    }

    /// What was used of a budget is written again once it can be.
    @Test func aBudgetThatCouldNotBeWrittenIsWrittenLater() async throws {
        var budget = FunctionBudget()
        budget.invocationsPerDay = 1
        let engine = FailingEngine()
        let first = try await DispatcherRing([.created("f")], budgets: ["f": budget], on: engine)
        try await first.set("items/1")
        _ = await (try first.launcher("f")).next()
        engine.fails.withLock { $0 = true }
        await first.service.keepBudgets()
        engine.fails.withLock { $0 = false }
        await first.service.keepBudgets()
        let second = try await DispatcherRing([.created("f")], budgets: ["f": budget], after: first)
        #expect(second.gates["f"]?.admit() == .budgetUsedUp)
    }

    /// Deliveries that came together are leased together, before the budget is asked for each.
    @Test func whatABudgetRefusesIsFreeForTheNextDay() async throws {
        var budget = FunctionBudget()
        budget.invocationsPerDay = 1
        let ring = try await DispatcherRing([.created("f")], budgets: ["f": budget])
        try await ring.commit(
            try (1...3).map { Write(path: try DocumentPath("items/\($0)"), operation: .set([:])) })
        let launcher = try ring.launcher("f")
        let first = await launcher.next()
        let free = try await ring.unleased("f")
        #expect(free.count == 2 && !free.contains(first.id))
        #expect(launcher.count == 1)
    }
}
