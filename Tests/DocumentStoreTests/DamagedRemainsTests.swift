import CommitPipeline
import DocumentModel
@testable import DocumentStore
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// Damage to rows that are only removed: expired ones, and the old end of the change log.
struct DamagedRemainsTests {
    @Test(arguments: [StorageTable.changes, .completions, .deliveries])
    func noCommitFailsForRowsThatAreToBeRemoved(table: StorageTable) async throws {
        let errors = Mutex<[StorageError]>([])
        var commits = CommitConfiguration()
        commits.onDamage = { error in errors.withLock { $0.append(error) } }
        let test = try TestStore(engine: DamagedRemains(table), commits: commits)
        try await withStore(test) { test in
            for number in 1...3 as ClosedRange<Int64> {
                try await test.set("a/b", ["n": .integer(number)])
                // Expired rows are looked for once a second.
                test.clock.advance(seconds: 2)
            }
            #expect(try await test.get("a/b")?.fields["n"] == .integer(3))
        }
        #expect(errors.withLock { $0.map(\.kind) } == [.damaged])
    }
}

/// A memory engine whose writer finds all of a table damaged when it looks for keys.
private final class DamagedRemains: StorageEngine {
    private let inner = MemoryEngine()
    private let table: StorageTable

    init(_ table: StorageTable) { self.table = table }

    func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try inner.write { try body(Writer(writer: $0, damaged: table)) }
    }

    func close() throws {}

    private struct Writer: StorageWriter, ForwardingReader {
        let writer: any StorageWriter
        let damaged: StorageTable

        var inner: any StorageReader { writer }

        func scanKeys(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
        ) throws {
            if table == damaged { throw StorageError(.damaged, "the page can't be read") }
            try writer.scanKeys(table, range, reverse: reverse, body)
        }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws { try writer.put(table, key, value) }

        func delete(_ table: StorageTable, _ key: [UInt8]) throws { try writer.delete(table, key) }
    }
}
