import Synchronization

/// An engine without a file, for tests: as strict as the embedded one.
package final class MemoryEngine: StorageEngine {
    /// The durable state. Readers take a copy, which shares its storage until the next write.
    private let durable = Mutex([SortedTable](repeating: SortedTable(), count: StorageTable.allCases.count))
    /// Admits one writer at a time, without blocking readers.
    private let writing = Mutex(())

    package init() {}

    package func makeReadSession() throws -> any ReadSession { Session(engine: self) }

    package func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try writing.withLock { _ throws -> Result in
            let batch = Tables(durable.withLock { $0 })
            let result = try body(batch)
            durable.withLock { $0 = batch.tables }
            return result
        }
    }

    package func close() throws {}

    private final class Session: ReadSession {
        let engine: MemoryEngine

        init(engine: MemoryEngine) { self.engine = engine }

        func read<Result>(_ body: (any StorageReader) throws -> Result) throws -> Result {
            try body(Tables(engine.durable.withLock { $0 }))
        }
    }

    private final class Tables: StorageWriter {
        var tables: [SortedTable]

        init(_ tables: [SortedTable]) { self.tables = tables }

        func get(_ table: StorageTable, _ key: [UInt8]) -> [UInt8]? { tables[table.rawValue][key] }

        func scan(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
        ) throws {
            try tables[table.rawValue].scan(range, reverse: reverse, body)
        }

        func scanKeys(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
        ) throws {
            try tables[table.rawValue].scan(range, reverse: reverse) { key, _ in try body(key) }
        }

        func count(_ table: StorageTable, _ range: KeyRange) -> Int {
            var count = 0
            tables[table.rawValue].scan(range, reverse: false) { _, _ in
                count += 1
                return true
            }
            return count
        }

        func key(_ table: StorageTable, _ range: KeyRange, after count: Int) -> [UInt8]? {
            var (left, found) = (count, [UInt8]?.none)
            tables[table.rawValue].scan(range, reverse: false) { key, _ in
                if left == 0 { found = key }
                left -= 1
                return found == nil
            }
            return found
        }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) {
            tables[table.rawValue].put(key, value)
        }

        func delete(_ table: StorageTable, _ key: [UInt8]) { tables[table.rawValue].delete(key) }
    }
}
