@testable import CommitPipeline
import DocumentModel
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

/// The version's row, which every snapshot reads.
struct StoreVersionTests {
    private final class FirstKind: DataKind {
        static let id: UInt8 = 0
    }

    private final class LastKind: DataKind {
        static let id: UInt8 = 255
    }

    /// An older program can still open a store that has documents only.
    @Test func aRowWithoutOtherKindsIsAsItWasBeforeThem() throws {
        let engine = MemoryEngine()
        for first in [nil, 0, 300] as [Int64?] {
            var expected = ByteWriter()
            expected.write(signed: 1_700_000_000_000_000)
            if let first { expected.write(signed: first) }
            var generations = KindGenerations()
            generations[FirstKind.self] = first
            try engine.write { try StoreVersion.write(1_700_000_000_000_000, generations, to: $0) }
            let row = try engine.makeReadSession().read { try $0.get(.meta, Array("version".utf8)) }
            #expect(row == expected.bytes)
        }
    }

    @Test(arguments: [nil, 0, 300] as [Int64?], [nil, 0, 1] as [Int64?])
    func eachKindsGenerationIsReadAgain(first: Int64?, other: Int64?) throws {
        let engine = MemoryEngine()
        var generations = KindGenerations()
        generations[FirstKind.self] = first
        generations[LastKind.self] = other
        generations[Counters.self] = other.map { $0 + 1000 }
        try engine.write { try StoreVersion.write(5, generations, to: $0) }
        let row = try engine.makeReadSession().read { try StoreVersion.readRow($0) }
        #expect(row.version == 5)
        #expect(row.generations == generations)
    }

    @Test func aKindThatIsNotThereKeepsItsGeneration() async throws {
        let engine = MemoryEngine()
        var generations = KindGenerations()
        generations[FirstKind.self] = 3
        generations[LastKind.self] = 4
        try engine.write { try StoreVersion.write(5, generations, to: $0) }
        let pipeline = try CommitPipeline(engine: engine, now: ManualClock().timestamp)
        let counters = try pipeline.add { try Counters($0) }
        try pipeline.start()
        _ = await pipeline.commit { Commit([CountUp("a", counters)]) }
        await pipeline.shutdown()
        generations[Counters.self] = 1
        #expect(try engine.makeReadSession().read { try StoreVersion.readRow($0).generations } == generations)
    }
}
