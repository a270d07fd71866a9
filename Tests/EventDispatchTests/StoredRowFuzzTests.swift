import CommitPipeline
@testable import DocumentStore
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

/// Rows of a real store, damaged by their structure, under everything that reads them: an answer or an error, never a
/// trap, and never a loop without end.
@Suite(.endsHangs(afterWorking: FuzzRounds.seconds ?? 0)) struct StoredRowFuzzTests {
    /// Many times what a round reads.
    private static let maxRows = 2_000_000

    @Test func damagedRowsAreReportedAndHarmNothingElse() async throws {
        let rows = try await StoredRows(at: .at())
        try await FuzzRounds.run("stored rows", count: 60) { random, seed in
            let engine = CountingEngine(MemoryEngine(), limit: Self.maxRows)
            try rows.damaged(&random).store(in: engine)
            // Now and then once more, with what it has stored itself.
            repeat {
                let clock = ManualClock.at(secondsOfDay: 3000)
                guard let store = Self.open(engine, clock, &random, seed) else { break }
                await StoreReading(store: store, clock: clock, seed: seed).readAll(&random)
                await store.shutdown()
            } while random.once(in: 4)
            #expect(!engine.isExceeded, "a loop without end; seed \(seed)")
        }
    }

    /// An undamaged store has all that the rounds need.
    @Test func theStoreHasRowsOfEachKind() async throws {
        let rows = try await StoredRows(at: .at()).rows
        // Without users and trees, other kinds of data.
        #expect(Set(rows.map(\.table)) == Set(StorageTable.allCases).subtracting([.users, .tree]))
        #expect(Set(rows.filter { $0.table == .deliveries }.map { $0.key.first }) == [1, 2, 3, 4, 5, 6, 7])
        #expect(Set(rows.filter { $0.table == .index }.map { $0.key.first }) == [1, 3, 5, 7])
        let engine = MemoryEngine()
        for row in rows { try engine.write { try $0.put(row.table, row.key, row.value) } }
        let store = try DocumentStore(engine: engine, now: ManualClock.at(secondsOfDay: 3000).timestamp)
        try store.start()
        var problems: [String] = []
        _ = try store.check(report: { problems.append($0) }, progress: { _ in })
        await store.shutdown()
        #expect(problems == [])
    }

    /// - Returns: nil for a store that is refused as damaged.
    private static func open(
        _ engine: any StorageEngine, _ clock: ManualClock, _ random: inout SeededGenerator, _ seed: UInt64
    ) -> DocumentStore? {
        var commits = CommitConfiguration()
        // Some logs are trimmed at once.
        if random.once(in: 3) { commits.maxHistoryBytes = 0 }
        var configuration = StoreConfiguration()
        configuration.clientQueryLimits.time = .seconds(3600)
        do {
            let store = try DocumentStore(
                engine: engine, now: clock.timestamp, elapsed: clock.elapsed, configuration: configuration,
                commits: commits)
            try store.start()
            return store
        } catch {
            StoreReading.check(error, seed)
            return nil
        }
    }
}
