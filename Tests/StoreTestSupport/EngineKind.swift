import RocksDBStorage
import SQLiteStorage
package import StorageEngine
package import TestSupport

/// The engines that a conformance test runs on.
package enum EngineKind: CaseIterable, Sendable {
    case memory, sqlite, rocksdb

    package func make(in directory: TemporaryDirectory) throws -> any StorageEngine {
        switch self {
        case .memory: MemoryEngine()
        case .sqlite: try SQLiteEngine(file: directory.file("documents.db"))
        case .rocksdb: try RocksDBEngine(directory: directory.file("documents.rocksdb"))
        }
    }
}
