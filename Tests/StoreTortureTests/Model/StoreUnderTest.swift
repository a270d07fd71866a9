import CommitPipeline
import RocksDBStorage
import SQLiteStorage
import StorageEngine
import DocumentModel
import DocumentStore
import Foundation
import TestSupport

/// A store that can be closed and opened again, with a clock that stands still until it is advanced.
final class StoreUnderTest: @unchecked Sendable {
    enum Kind: CaseIterable, Sendable {
        case memory, sqlite, rocksdb
    }

    /// For how long at least the past can be read.
    static let retention: Duration = .seconds(120)

    let clock = ManualClock()
    /// The latest that the wall clock ever showed.
    private(set) var latest: Timestamp
    let start: Timestamp
    private let kind: Kind
    private let directory: String
    // Used by the one task that runs the steps.
    private var engine: any StorageEngine
    private(set) var store: DocumentStore

    init(_ kind: Kind) throws {
        self.kind = kind
        start = clock.timestamp()
        latest = start
        directory = FileManager.default.temporaryDirectory.path + "/model-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        engine = try Self.engine(kind, directory)
        store = try Self.start(engine, clock)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// What was committed survives; what is open ends. The memory engine stands for a disk.
    func reopen() async throws {
        await store.shutdown()
        if kind != .memory {
            try engine.close()
            engine = try Self.engine(kind, directory)
        }
        store = try Self.start(engine, clock)
    }

    /// Advances the clock. A negative number sets the wall clock back.
    func advance(seconds: Int64) {
        clock.advance(seconds: Double(seconds))
        latest = max(latest, clock.timestamp())
    }

    func close() async throws {
        await store.shutdown()
        try engine.close()
    }

    private static func engine(_ kind: Kind, _ directory: String) throws -> any StorageEngine {
        switch kind {
        case .memory: MemoryEngine()
        case .sqlite: try SQLiteEngine(file: directory + "/documents.db")
        case .rocksdb: try RocksDBEngine(directory: directory + "/documents.rocksdb")
        }
    }

    private static func start(_ engine: any StorageEngine, _ clock: ManualClock) throws -> DocumentStore {
        var commits = CommitConfiguration()
        commits.historyRetention = retention
        let store = try DocumentStore(
            engine: engine, now: clock.timestamp, elapsed: clock.elapsed, commits: commits)
        try store.start()
        return store
    }
}
