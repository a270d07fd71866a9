package import StorageEngine
package import Synchronization

/// A memory engine that can't read the values of some rows.
package final class UnreadRows: StorageEngine {
    private let inner = MemoryEngine()
    /// Why each can't be read, by its key in whichever table.
    package let errors = Mutex<[[UInt8]: StorageError]>([:])

    package init() {}

    package func makeReadSession() throws -> any ReadSession {
        WrappingSession(try inner.makeReadSession()) { Reader(inner: $0, engine: self) }
    }

    package func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try inner.write { try body(Writer(writer: $0, engine: self)) }
    }

    package func close() throws {}

    fileprivate func check(_ key: [UInt8]) throws {
        if let error = errors.withLock({ $0[key] }) { throw error }
    }

    private struct Reader: ForwardingReader {
        let inner: any StorageReader
        let engine: UnreadRows

        func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
            try engine.check(key)
            return try inner.get(table, key)
        }

        func scan(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
        ) throws {
            try inner.scan(table, range, reverse: reverse) { key, value in
                try engine.check(key)
                return try body(key, value)
            }
        }
    }

    private struct Writer: StorageWriter, ForwardingReader {
        let writer: any StorageWriter
        let engine: UnreadRows

        var inner: any StorageReader { Reader(inner: writer, engine: engine) }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws { try writer.put(table, key, value) }

        func delete(_ table: StorageTable, _ key: [UInt8]) throws { try writer.delete(table, key) }
    }
}
