import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

@testable import CommitPipeline

struct RefusalReportsTests {
    @Test func aRefusalIsReportedOnceAMinuteAndSoIsItsEnd() {
        var reports = RefusalReports()
        let full = StorageError(.unavailable, "the disk is full")
        var isReported = reports.kept()
        #expect(!isReported)
        isReported = reports.refused(full, at: .seconds(5))
        #expect(isReported)
        isReported = reports.refused(full, at: .seconds(64))
        #expect(!isReported)
        isReported = reports.refused(full, at: .seconds(65))
        #expect(isReported)
        isReported = reports.refused(StorageError(.unavailable, "the disk can't be read"), at: .seconds(66))
        #expect(isReported)
        isReported = reports.kept()
        #expect(isReported)
        isReported = reports.kept()
        #expect(!isReported)
        isReported = reports.refused(full, at: .seconds(67))
        #expect(isReported)
    }

    @Test func theWriterReportsThem() async throws {
        let (engine, clock) = (FailingEngine(), ManualClock())
        let reports = Mutex<[String?]>([])
        var configuration = CommitConfiguration()
        configuration.onRefusal = { error in reports.withLock { $0.append(error?.message) } }
        let pipeline = try CommitPipeline(
            engine: engine, now: clock.timestamp, elapsed: clock.elapsed, configuration: configuration)
        let counters = try pipeline.add { try Counters($0) }
        try pipeline.start()
        for isFull in [false, true, true, true, false, false] {
            engine.fails.withLock { $0 = isFull }
            _ = await pipeline.commit { Commit([CountUp("a", counters)]) }
        }
        await pipeline.shutdown()
        #expect(reports.withLock { $0 } == ["the disk is full", nil])
    }
}
