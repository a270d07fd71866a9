package import StorageEngine
import Synchronization

/// A memory engine that finds the rows of some deliveries damaged, until they are repaired.
package final class DamagedScans: StorageEngine {
    private let inner = MemoryEngine()
    private let damaged: Mutex<String?>

    /// - Parameter function: whose deliveries are damaged.
    package init(of function: String) { damaged = Mutex(function) }

    package func repair() { damaged.withLock { $0 = nil } }

    package func makeReadSession() throws -> any ReadSession {
        WrappingSession(try inner.makeReadSession()) { Reader(inner: $0, engine: self) }
    }

    package func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result { try inner.write(body) }

    package func close() throws {}

    fileprivate func check(_ table: StorageTable, _ range: KeyRange) throws {
        guard table == .deliveries, let function = damaged.withLock({ $0 }),
            String(decoding: range.lower, as: UTF8.self).contains(function)
        else { return }
        throw StorageError(.damaged, "the block can't be read")
    }

    private struct Reader: ForwardingReader {
        let inner: any StorageReader
        let engine: DamagedScans

        func scan(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
        ) throws {
            try engine.check(table, range)
            try inner.scan(table, range, reverse: reverse, body)
        }

        func scanKeys(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
        ) throws {
            try engine.check(table, range)
            try inner.scanKeys(table, range, reverse: reverse, body)
        }
    }
}
