package import StorageEngine
import Synchronization

/// An engine that counts the rows that are read, and ends what reads more than it may: a loop without end.
package final class CountingEngine: StorageEngine {
    private let inner: any StorageEngine
    private let rows = Mutex(0)
    private let changes = Mutex(0)
    private let largest = Mutex(0)
    private let values = Mutex(0)
    private let largestValues = Mutex(0)
    private let limit: Int

    package init(_ inner: any StorageEngine, limit: Int) {
        self.inner = inner
        self.limit = limit
    }

    package var isExceeded: Bool { rows.withLock { $0 > limit } }

    /// The rows that were read, and those that were put or deleted, since the last call.
    package func takeCounts() -> (read: Int, changed: Int) { (take(rows), take(changes)) }

    /// The bytes of values that were read since the last call.
    package func takeValueBytes() -> Int { take(values) }

    /// The most rows that one write has read since the last call, if no others read meanwhile.
    package func takeLargestWrite() -> Int { take(largest) }

    /// The most bytes of values that one write has read, likewise.
    package func takeLargestWriteBytes() -> Int { take(largestValues) }

    private func take(_ counter: borrowing Mutex<Int>) -> Int {
        counter.withLock { count in
            defer { count = 0 }
            return count
        }
    }

    fileprivate func countChange() { changes.withLock { $0 += 1 } }

    fileprivate func count(_ value: [UInt8]? = nil) throws {
        if let value { values.withLock { $0 += value.count } }
        guard
            rows.withLock({ rows in
                rows += 1
                return rows <= limit
            })
        else { throw StorageError(.unavailable, "more than \(limit) rows were read") }
    }

    package func makeReadSession() throws -> any ReadSession {
        WrappingSession(try inner.makeReadSession()) { CountedReader(inner: $0, engine: self) }
    }

    package func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        let before = (rows: rows.withLock { $0 }, bytes: values.withLock { $0 })
        defer {
            let read = (rows: rows.withLock { $0 } - before.rows, bytes: values.withLock { $0 } - before.bytes)
            largest.withLock { $0 = max($0, read.rows) }
            largestValues.withLock { $0 = max($0, read.bytes) }
        }
        return try inner.write { try body(CountedWriter(writer: $0, engine: self)) }
    }

    package func close() throws { try inner.close() }

    private struct CountedWriter: StorageWriter, ForwardingReader {
        let writer: any StorageWriter
        let engine: CountingEngine

        var inner: any StorageReader { CountedReader(inner: writer, engine: engine) }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws {
            engine.countChange()
            try writer.put(table, key, value)
        }

        func delete(_ table: StorageTable, _ key: [UInt8]) throws {
            engine.countChange()
            try writer.delete(table, key)
        }
    }

    private struct CountedReader: StorageReader {
        let inner: any StorageReader
        let engine: CountingEngine

        func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
            let value = try inner.get(table, key)
            try engine.count(value)
            return value
        }

        func scan(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
        ) throws {
            try inner.scan(table, range, reverse: reverse) { key, value in
                try engine.count(value)
                return try body(key, value)
            }
        }

        func scanKeys(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
        ) throws {
            try inner.scanKeys(table, range, reverse: reverse) { key in
                try engine.count()
                return try body(key)
            }
        }

        func count(_ table: StorageTable, _ range: KeyRange) throws -> Int {
            try engine.count()
            return try inner.count(table, range)
        }

        func key(_ table: StorageTable, _ range: KeyRange, after count: Int) throws -> [UInt8]? {
            try engine.count()
            return try inner.key(table, range, after: count)
        }
    }
}
