import DocumentModel
import DocumentStore
import Foundation
import StoreTorture
import Synchronization
import TestSupport
import Testing

/// Clients that get in each other's way, and a replay that finds every anomaly there can be.
///
/// `SOAK_SECONDS` goes on for longer, `SOAK_SEED` repeats the clients' choices.
@Suite struct SerializabilityTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["SOAK_SECONDS"].flatMap { Int($0) } ?? 3
    private static let clients = 12
    /// Commits of one run.
    private static let fewest = 100

    @Test(.endsHangs(afterWorking: seconds), arguments: StoreUnderTest.Kind.allCases)
    func everyHistoryIsOneOfTransactionsOneAfterTheOther(kind: StoreUnderTest.Kind) async throws {
        let seed = Self.environment["SOAK_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...9_999_999)
        print("the clients' seed is \(seed)")
        let tested = try StoreUnderTest(kind)
        let end = ContinuousClock.now + .seconds(Self.seconds)
        var replay = HistoryReplay()
        var position = try await tested.store.newestPosition()
        var run = 0
        var refusals = 0
        repeat {
            run += 1
            let name = "run\(run)"
            let acknowledged = Mutex<[DocumentPath: Timestamp]>([:])
            let workload = Workload(store: tested.store, name: name, seed: seed &+ UInt64(run)) { path, time in
                acknowledged.withLock { $0[path] = time }
            }
            try await workload.prepare()
            let pause = min(end, ContinuousClock.now + .seconds(5))
            // However slow the machine is, there is something to replay.
            try await workload.run(clients: Self.clients) {
                ContinuousClock.now >= pause && acknowledged.withLock { $0.count } >= Self.fewest
                    && workload.allowed.load(ordering: .relaxed) > 0
            }
            refusals += workload.refusals.load(ordering: .relaxed)
            let records = try await tested.store.records(of: name)
            let times = Dictionary(uniqueKeysWithValues: records.map { ($0.path, $0.updateTime) })
            #expect(acknowledged.withLock { $0 } == times)
            let feed = try await tested.store.changes(after: position)
            position = feed.1
            try replay.take(records, feed: feed.0)
            try replay.compare(try await tested.store.workedOn())
            try await tested.reopen()
        } while ContinuousClock.now < end
        print(
            "\(replay.commits) commits with \(replay.reads) reads on \(kind) are serializable, \(replay.underRules) of them "
                + "under rules; \(refusals) were refused")
        #expect(replay.underRules > 0)
        #expect(replay.reads > replay.commits / 2)
        try await tested.close()
    }
}
