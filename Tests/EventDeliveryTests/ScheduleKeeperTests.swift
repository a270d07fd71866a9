@testable import CommitPipeline
import HostTesting
import StorageEngine
import StoreTestSupport
import DocumentModel
import FunctionManifest
import DocumentStore
@testable import EventDelivery
@testable import ControlProtocol
@testable import EventDispatch
import Logging
import Synchronization
import TestSupport
import Testing

/// Jobs on a store, with time in the test's hands.
@Suite struct ScheduleKeeperTests {
    private static func time(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }

    private static func keeper(_ fixtures: ScheduleFixtures, _ store: DocumentStore) throws -> ScheduleKeeper {
        ScheduleKeeper(try fixtures.jobs, store: store, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Lets time pass until an instant: makes what is due, and has it worked on at once.
    private static func pass(
        until end: Timestamp, _ fixtures: ScheduleFixtures, _ store: DocumentStore,
        _ made: inout [String: [Timestamp]]
    ) async throws {
        let delivered = Mutex<[StoredDelivery]>([])
        store.outbox.onChanges { news in delivered.withLock { $0 += news.due } }
        var keeper = try keeper(fixtures, store)
        for function in fixtures.functions {
            for delivery in try await store.outbox.deliveries(areDead: false, function: function.name, limit: 1000) {
                if let stored = try await store.outbox.delivery(delivery.id) {
                    delivered.withLock { $0.append(stored) }
                }
            }
        }
        while fixtures.now < end {
            _ = await keeper.step(at: fixtures.now)
            while true {
                let runs = delivered.withLock { delivered in
                    defer { delivered = [] }
                    return delivered
                }
                guard !runs.isEmpty else { break }
                var ends: [DeliveryEnd] = []
                for run in runs {
                    made[run.delivery.id.function, default: []].append(try Event(decoding: run.event).time)
                    ends += try await store.finish(run.delivery.id, at: fixtures.now)
                }
                _ = await keeper.ended(ends, at: fixtures.now)
            }
            fixtures.now = min(end, try #require(keeper.states.values.compactMap(\.wake).min()))
        }
    }

    /// March 2026, in which New York's clocks change on the 8th and London's on the 29th, and a host that is down from
    /// the 15th at noon until the 16th at noon.
    @Test func aMonthOfSchedulesLosesAndRepeatsNothing() async throws {
        let fixtures = ScheduleFixtures(
            [
                ScheduleFixtures.function("hourly", "0 * * * *", zone: "America/New_York", missedRuns: .all(max: 100)),
                ScheduleFixtures.function("nightly", "every day 03:00", zone: "Asia/Tokyo"),
                ScheduleFixtures.function("dawn", "30 1 * * *", zone: "Europe/London", missedRuns: .skip),
                ScheduleFixtures.function(
                    "office", "*/30 9-17 * * mon-fri", zone: "Europe/London", missedRuns: .skip),
                ScheduleFixtures.function("quarters", "every 6 hours synchronized"),
                ScheduleFixtures.function("steady", "every 5 hours"),
            ], at: try Self.time("2026-03-01T00:00:00Z"))
        var made: [String: [Timestamp]] = [:]
        let start = ContinuousClock.now
        try await fixtures.serving { store in
            try await Self.pass(until: try Self.time("2026-03-15T12:00:00Z"), fixtures, store, &made)
        }
        fixtures.now = try Self.time("2026-03-16T12:00:00Z")
        try await fixtures.serving { store in
            try await Self.pass(until: try Self.time("2026-04-01T00:00:00Z"), fixtures, store, &made)
        }
        print("a month of schedules took \(ContinuousClock.now - start)")
        // Every hour of the month: the one that New York's clocks jump over never passes in real time.
        let hours = (1..<744).map { Timestamp(seconds: 1_772_323_200 + $0 * 3600, nanoseconds: 0) }
        #expect(made["hourly"] == hours)
        #expect(made["nightly"] == (0..<31).map { Timestamp(seconds: 1_772_388_000 + $0 * 86_400, nanoseconds: 0) })
        // The 16th's is not made up for, and on the 29th 01:30 is jumped over: it runs at 02:00, which is 01:00 in UTC.
        let dawn = try #require(made["dawn"])
        #expect(dawn.count == 30)
        #expect(!dawn.contains(try Self.time("2026-03-16T01:30:00Z")))
        #expect(
            dawn.suffix(3).map(\.rfc3339) == ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"])
        // 22 working days with 18 runs each, of which 6 fell into the downtime.
        #expect(made["office"]?.count == 22 * 18 - 6)
        #expect(made["office"]?.contains(try Self.time("2026-03-16T12:00:00Z")) == true)
        // One run makes up for five.
        #expect(made["quarters"]?.count == 31 * 4 - 1 - 4)
        // 69 until the host went down, one when it came back, and each 5 hours from then on.
        #expect(made["steady"]?.count == 69 + 1 + 74)
        for (name, runs) in made { #expect(Set(runs).count == runs.count, "\(name)") }
    }

    /// The store refuses commits at random, as a disk does, and the host is killed at random between two steps.
    @Test(arguments: 0..<8)
    func aHostThatIsKilledLosesAndRepeatsNothing(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let engine = FailingEngine()
        let fixtures = ScheduleFixtures(
            [
                ScheduleFixtures.function("each", "*/5 * * * *", missedRuns: .all(max: 1000)),
                ScheduleFixtures.function("parallel", "*/6 * * * *", missedRuns: .all(max: 1000), overlaps: true),
            ], at: try Self.time("2026-01-01T00:00:00Z"), engine: engine)
        var made: [String: [Timestamp]] = [:]
        let end = try Self.time("2026-01-01T06:00:00Z")
        while fixtures.now < end {
            try await fixtures.serving { store in
                var keeper = try Self.keeper(fixtures, store)
                repeat {
                    engine.fails.withLock { $0 = random.once(in: 3) }
                    _ = await keeper.step(at: fixtures.now)
                    engine.fails.withLock { $0 = false }
                    for function in fixtures.functions where !random.once(in: 3) {
                        made[function.name, default: []] += try await store.openRuns(of: function.name)
                        let ends = try await store.work(on: function.name, at: fixtures.now)
                        if !random.once(in: 3) { _ = await keeper.ended(ends, at: fixtures.now) }
                    }
                    fixtures.now = fixtures.now.adding(Int64.random(in: 1...400, using: &random))
                } while !random.once(in: 4) && fixtures.now < end
            }
        }
        // What is left is made up for while nothing goes wrong any more.
        fixtures.now = end
        try await fixtures.serving { store in
            try await Self.pass(until: end.adding(1), fixtures, store, &made)
        }
        for (name, minutes) in [("each", 5), ("parallel", 6)] {
            let expected = stride(from: minutes, through: 360, by: minutes).map {
                Timestamp(seconds: 1_767_225_600 + Int64($0) * 60, nanoseconds: 0)
            }
            #expect(made[name] == expected, "\(name)")
        }
    }

    @Test func runsDoNotOverlap() async throws {
        let fixtures = ScheduleFixtures(
            [ScheduleFixtures.function("slow", "* * * * *")], at: try Self.time("2026-01-01T00:00:30Z"))
        try await fixtures.serving { store in
            var keeper = try Self.keeper(fixtures, store)
            _ = await keeper.step(at: fixtures.now)
            for _ in 0..<5 {
                fixtures.now = fixtures.now.adding(60)
                _ = await keeper.step(at: fixtures.now)
            }
            #expect(try await store.openRuns(of: "slow").map(\.rfc3339) == ["2026-01-01T00:01:00Z"])
            // A restart doesn't forget that it goes on.
            var other = try Self.keeper(fixtures, store)
            _ = await other.step(at: fixtures.now)
            #expect(try await store.openRuns(of: "slow").count == 1)
            let ends = try await store.work(on: "slow", at: fixtures.now)
            _ = await other.ended(ends, at: fixtures.now)
            #expect(try await store.openRuns(of: "slow").map(\.rfc3339) == ["2026-01-01T00:05:00Z"])
            let listing = try await other.listing(at: fixtures.now, count: 2)
            let report = try #require(listing.schedules.first)
            #expect(report.next == ["2026-01-01T00:06:00Z", "2026-01-01T00:07:00Z"])
            #expect(report.lastRun?.due == "2026-01-01T00:05:00Z")
            #expect(report.openRun != nil)
        }
    }

    @Test(arguments: [(MissedRunsManifest.once, 1), (.skip, 0)])
    func theLogTellsOfMissedRuns(policy: MissedRunsManifest, made: Int) async throws {
        let fixtures = ScheduleFixtures(
            [ScheduleFixtures.function("job", "0 * * * *", missedRuns: policy)],
            at: try Self.time("2026-01-01T00:10:00Z"))
        let log = LogLines()
        try await fixtures.serving { store in
            var keeper = ScheduleKeeper(try fixtures.jobs, store: store, logger: log.logger)
            _ = await keeper.step(at: fixtures.now)
            fixtures.now = try Self.time("2026-01-01T01:00:30Z")
            _ = await keeper.step(at: fixtures.now)
            _ = await keeper.ended(try await store.work(on: "job", at: fixtures.now), at: fixtures.now)
            #expect(log.all.isEmpty)
            fixtures.now = try Self.time("2026-01-01T05:30:00Z")
            _ = await keeper.step(at: fixtures.now)
            #expect(log.all == ["scheduled runs were missed function=job made=\(made) since=2026-01-01T02:00:00Z"])
        }
    }

    @Test func aPausedJobMakesNoRunsUntilItIsResumed() async throws {
        let fixtures = ScheduleFixtures(
            [ScheduleFixtures.function("job", "0 * * * *", zone: "Asia/Kolkata")],
            at: try Self.time("2026-01-01T00:00:00Z"))
        for pause in ["pause/job", "pause/*"] {
            try await fixtures.serving { store in
                var keeper = try Self.keeper(fixtures, store)
                _ = await keeper.step(at: fixtures.now)
                try await store.outbox.keep([(pause, [1])])
                fixtures.now = fixtures.now.adding(3 * 3600)
                _ = await keeper.step(at: fixtures.now)
                #expect(try await store.openRuns(of: "job").isEmpty)
                let report = try #require(try await keeper.listing(at: fixtures.now, count: 1).schedules.first)
                #expect(report.isPaused)
                #expect(report.heldSince?.hasSuffix(":00:00+05:30") == true)
                await #expect(throws: DocumentError.self) { try await keeper.run("job", at: fixtures.now) }
                try await store.outbox.keep([(pause, nil)])
                _ = await keeper.step(at: fixtures.now)
                #expect(try await store.openRuns(of: "job").count == 1)
                let ends = try await store.work(on: "job", at: fixtures.now)
                _ = await keeper.ended(ends, at: fixtures.now)
            }
        }
    }

    @Test func aRunByHandIsNoneOfTheSchedules() async throws {
        let fixtures = ScheduleFixtures(
            [ScheduleFixtures.function("job", "0 * * * *"), ScheduleFixtures.function("other", "0 * * * *")],
            at: try Self.time("2026-01-01T00:10:00Z"))
        try await fixtures.serving { store in
            var keeper = try Self.keeper(fixtures, store)
            let event = try await keeper.run("job", at: fixtures.now)
            let stored = try #require(try await store.outbox.delivery(DeliveryID(event: event, function: "job")))
            #expect(try Event(decoding: stored.event).content == .schedule(job: "job", isManual: true))
            await #expect(throws: DocumentError.self) { try await keeper.run("job", at: fixtures.now) }
            await #expect(throws: DocumentError.self) { try await keeper.run("unknown", at: fixtures.now) }
            fixtures.now = try Self.time("2026-01-01T01:00:00Z")
            _ = await keeper.step(at: fixtures.now)
            #expect(try await store.openRuns(of: "job").count == 1)
            _ = await keeper.ended(try await store.work(on: "job", at: fixtures.now), at: fixtures.now)
            #expect(try await store.openRuns(of: "job").map(\.rfc3339) == ["2026-01-01T01:00:00Z"])
        }
    }

    @Test(arguments: [false, true]) func damagedDeliveriesOfOneJobStopNoOther(restarts: Bool) async throws {
        let engine = DamagedScans(of: "broken")
        let fixtures = ScheduleFixtures(
            [ScheduleFixtures.function("broken", "0 * * * *"), ScheduleFixtures.function("other", "0 * * * *")],
            at: try Self.time("2026-01-01T00:10:00Z"), engine: engine)
        let log = LogLines()
        try await fixtures.serving { store in
            var keeper = ScheduleKeeper(try fixtures.jobs, store: store, logger: log.logger)
            _ = await keeper.step(at: fixtures.now)
            fixtures.now = try Self.time("2026-01-01T01:00:00Z")
            if restarts {
                // The record tells of a run that may be under way.
                let run = ScheduleRecord.Run(
                    due: fixtures.now.adding(-3600), made: fixtures.now.adding(-3600), isManual: true, end: nil)
                let record = ScheduleRecord(
                    schedule: "0 * * * *", zone: "UTC", next: fixtures.now, asOf: fixtures.now.adding(-1800),
                    lastRun: run)
                try await store.outbox.keep([(ScheduleRecord.name("broken"), record.encoded)])
                keeper = ScheduleKeeper(try fixtures.jobs, store: store, logger: log.logger)
            }
            #expect(await keeper.step(at: fixtures.now) == fixtures.now.adding(60))
            #expect(try await store.openRuns(of: "other").map(\.rfc3339) == ["2026-01-01T01:00:00Z"])
            #expect(log.all.contains { $0.contains("function=broken") && $0.contains("can't be read") })
            await #expect(throws: DocumentError.self) { try await keeper.run("broken", at: fixtures.now) }
            engine.repair()
            #expect(try await store.openRuns(of: "broken").isEmpty)
            _ = await keeper.step(at: fixtures.now)
            #expect(try await store.openRuns(of: "broken").map(\.rfc3339) == ["2026-01-01T01:00:00Z"])
        }
    }

    /// Its end would never come.
    @Test(arguments: [
        ("every 5 minutes", StorageTable.deliveries), ("every 5 minutes", .events), ("*/5 * * * *", .events),
    ])
    func aDamagedRunDoesNotStopItsJob(schedule: String, table: StorageTable) async throws {
        let engine = MemoryEngine()
        let fixtures = ScheduleFixtures(
            [ScheduleFixtures.function("job", schedule)], at: try Self.time("2026-01-01T00:00:00Z"), engine: engine)
        let log = LogLines()
        try await fixtures.serving { store in
            var keeper = ScheduleKeeper(try fixtures.jobs, store: store, logger: log.logger)
            _ = await keeper.step(at: fixtures.now)
            fixtures.now = fixtures.now.adding(300)
            _ = await keeper.step(at: fixtures.now)
            let damaged = try #require(try await store.outbox.deliveries(areDead: false, limit: 1).first?.id)
            let lease = try #require(store.outbox.lease(damaged))
            try engine.write { storage in
                let key = table == .events ? OutboxKey.event(damaged.event) : OutboxKey.pending(damaged)
                #expect(try storage.get(table, key) != nil)
                try storage.put(table, key, [255])
            }
            // Its handler is still running.
            fixtures.now = fixtures.now.adding(300)
            _ = await keeper.step(at: fixtures.now)
            #expect(try await Self.open(store).filter { $0 != damaged } == [])
            #expect(log.all == [])
            store.outbox.release(lease)
            for _ in 0..<2 {
                _ = await keeper.step(at: fixtures.now)
                #expect(try await Self.open(store).filter { $0 != damaged }.count == 1)
                #expect(log.all.count == 1)
            }
            let line = try #require(log.all.first)
            #expect(line.contains("function=job") && line.contains("\"functions-host data check --repair\""))
        }
    }

    private static func open(_ store: DocumentStore) async throws -> [DeliveryID] {
        try await store.outbox.deliveries(areDead: false, limit: 10).map(\.id)
    }

    /// The store has removed the run already, and its end is passed on after the switch.
    @Test(arguments: [("every 5 minutes", Int64(300)), ("every 10 minutes", 600)])
    func anEndBesideASwitchOfReleasesStartsNoRunEarly(schedule: String, pause: Int64) async throws {
        let fixtures = ScheduleFixtures(
            [ScheduleFixtures.function("job", "every 5 minutes")], at: try Self.time("2026-01-01T00:00:00Z"))
        try await fixtures.serving { store in
            var keeper = try Self.keeper(fixtures, store)
            _ = await keeper.step(at: fixtures.now)
            fixtures.now = fixtures.now.adding(300)
            _ = await keeper.step(at: fixtures.now)
            fixtures.now = fixtures.now.adding(900)
            let ends = try await store.work(on: "job", at: fixtures.now)
            #expect(ends.count == 1)
            let next = try #require(try ScheduledJob(ScheduleFixtures.function("job", schedule)))
            keeper.serve([next], at: fixtures.now)
            _ = await keeper.step(at: fixtures.now)
            #expect(try await store.openRuns(of: "job").isEmpty)
            _ = await keeper.ended(ends, at: fixtures.now)
            #expect(try await store.openRuns(of: "job").isEmpty)
            #expect(keeper.nextRun == fixtures.now.adding(pause))
            #expect(keeper.states["job"]?.record.lastRun?.end?.time == fixtures.now)
        }
    }

    @Test func aJobThatIsServedAgainGoesOnFromItsRecord() async throws {
        let fixtures = ScheduleFixtures(
            [ScheduleFixtures.function("job", "0 * * * *")], at: try Self.time("2026-01-01T00:10:00Z"))
        try await fixtures.serving { store in
            var keeper = try Self.keeper(fixtures, store)
            _ = await keeper.step(at: fixtures.now)
            keeper.serve([], at: fixtures.now)
            fixtures.now = try Self.time("2026-01-01T03:30:00Z")
            _ = await keeper.step(at: fixtures.now)
            #expect(try await store.openRuns(of: "job").isEmpty)
            keeper.serve(try fixtures.jobs, at: fixtures.now)
            _ = await keeper.step(at: fixtures.now)
            #expect(try await store.openRuns(of: "job").map(\.rfc3339) == ["2026-01-01T03:00:00Z"])
        }
    }

    @Test func theRecordOfAJobThatIsGoneIsKeptForAMonth() async throws {
        let fixtures = ScheduleFixtures(
            [ScheduleFixtures.function("job", "0 * * * *")], at: try Self.time("2026-01-01T00:10:00Z"))
        for (days, isKept) in [(Int64(29), true), (31, false)] {
            try await fixtures.serving { store in
                var keeper = try Self.keeper(fixtures, store)
                _ = await keeper.step(at: fixtures.now)
                var later = ScheduleKeeper([], store: store, logger: Logger(label: "test"))
                _ = await later.step(at: fixtures.now.adding(days * 86_400))
                #expect(try await store.outbox.records(startingWith: "schedule/").isEmpty != isKept)
            }
        }
    }
}
