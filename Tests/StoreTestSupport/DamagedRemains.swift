package import StorageEngine

/// A memory engine whose writer finds all of a table damaged when it looks for keys.
package final class DamagedRemains: StorageEngine {
    private let inner = MemoryEngine()
    private let table: StorageTable

    package init(_ table: StorageTable) { self.table = table }

    package func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

    package func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try inner.write { try body(Writer(writer: $0, damaged: table)) }
    }

    package func close() throws {}

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
