import DocumentModel
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

@testable import CommitPipeline

struct ExpirySweepTests {
    private func entry(_ time: Int64, _ row: UInt8) -> [UInt8] { CompletionRecord.expiries.key(time, of: [1, row]) }

    private func rows(_ engine: any StorageEngine) throws -> Set<UInt8> {
        try engine.makeReadSession().read { reader in
            var rows: Set<UInt8> = []
            try reader.scanKeys(.completions, .all, reverse: false) { key in
                if key.first == 1 { rows.insert(key[1]) }
                return true
            }
            return rows
        }
    }

    @Test(arguments: EngineKind.allCases) func eachSweepGoesOnWhereTheLastOneEnded(kind: EngineKind) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        var sweep = ExpirySweep(CompletionRecord.expiries)
        func store(_ times: [(row: UInt8, time: Int64)]) throws {
            try engine.write { writer in
                for (row, time) in times {
                    try writer.put(.completions, [1, row], [])
                    try writer.put(.completions, entry(time, row), [])
                }
            }
        }
        func run(at time: Int64, atMost limit: Int) throws -> Bool {
            try engine.write { try sweep.run(in: $0, at: Timestamp(microseconds: time), atMost: limit) }
        }
        // Two expire at the same time.
        try store([(1, 10), (2, 20), (3, 20), (4, 30), (5, 40)])
        #expect(try run(at: 35, atMost: 2))
        #expect(try rows(engine) == [3, 4, 5])
        #expect(try run(at: 35, atMost: 2))
        #expect(try rows(engine) == [5])
        #expect(try !run(at: 35, atMost: 2))
        try store([(6, 35)])
        #expect(try !run(at: 41, atMost: 9))
        #expect(try rows(engine) == [])
        // The clock was set back.
        try store([(7, 12)])
        #expect(try !run(at: 15, atMost: 9))
        #expect(try rows(engine) == [])
        // A sweep whose batch wasn't kept has removed nothing.
        try store([(8, 12)])
        #expect(throws: CancellationError.self) {
            try engine.write { writer in
                _ = try sweep.run(in: writer, at: Timestamp(microseconds: 50), atMost: 9)
                throw CancellationError()
            }
        }
        sweep.restart()
        #expect(try !run(at: 50, atMost: 9))
        #expect(try rows(engine) == [])
        try engine.close()
    }
}
