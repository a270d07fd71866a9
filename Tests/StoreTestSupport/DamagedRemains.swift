package import StorageEngine
import Synchronization

/// A memory engine whose writer can't look for the keys of a table: it finds all of it damaged, or has an I/O error.
/// For that it rolls the batch back, as SQLite does.
package final class DamagedRemains: StorageEngine {
    private let inner = MemoryEngine()
    private let table: StorageTable
    private let error: StorageError
    private let isRolledBack = Mutex(false)

    package init(_ table: StorageTable, _ kind: StorageError.Kind = .damaged) {
        self.table = table
        error = StorageError(kind, "the page can't be read")
    }

    package func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

    package func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try inner.write { writer in
            isRolledBack.withLock { $0 = false }
            let result = try body(Writer(writer: writer, engine: self))
            if isRolledBack.withLock({ $0 }) { throw StorageError(.unavailable, "the batch was rolled back") }
            return result
        }
    }

    package func close() throws {}

    fileprivate func check(_ table: StorageTable) throws {
        guard table == self.table else { return }
        if error.kind == .unavailable { isRolledBack.withLock { $0 = true } }
        throw error
    }

    private struct Writer: StorageWriter, ForwardingReader {
        let writer: any StorageWriter
        let engine: DamagedRemains

        var inner: any StorageReader { writer }

        func scanKeys(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
        ) throws {
            try engine.check(table)
            try writer.scanKeys(table, range, reverse: reverse, body)
        }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws { try writer.put(table, key, value) }

        func delete(_ table: StorageTable, _ key: [UInt8]) throws { try writer.delete(table, key) }
    }
}
