import SQLiteStorage
import StorageEngine
import DocumentModel
import DocumentStore
import Foundation
import Synchronization

/// A store that can be closed and opened again, with clocks that stand still until they are moved.
final class StoreUnderTest: @unchecked Sendable {
    enum Kind: CaseIterable, Sendable {
        case memory, sqlite
    }

    /// For how long at least the past can be read.
    static let retention: Duration = .seconds(120)

    let clocks = MovedClocks()
    let start: Timestamp
    private let kind: Kind
    private let directory: String
    // Used by the one task that runs the steps.
    private var engine: any StorageEngine
    private(set) var store: DocumentStore

    init(_ kind: Kind) throws {
        self.kind = kind
        start = clocks.now
        directory = FileManager.default.temporaryDirectory.path + "/model-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        engine = try Self.engine(kind, directory)
        store = try Self.start(engine, clocks)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// What was committed survives; what is open ends. The memory engine stands for a disk.
    func reopen() async throws {
        await store.shutdown()
        if kind == .sqlite {
            try engine.close()
            engine = try Self.engine(kind, directory)
        }
        store = try Self.start(engine, clocks)
    }

    func close() async throws {
        await store.shutdown()
        try engine.close()
    }

    private static func engine(_ kind: Kind, _ directory: String) throws -> any StorageEngine {
        switch kind {
        case .memory: MemoryEngine()
        case .sqlite: try SQLiteEngine(file: directory + "/documents.db")
        }
    }

    private static func start(_ engine: any StorageEngine, _ clocks: MovedClocks) throws -> DocumentStore {
        var configuration = StoreConfiguration()
        configuration.historyRetention = retention
        let store = try DocumentStore(
            engine: engine, now: { clocks.now }, elapsed: { clocks.elapsed }, configuration: configuration)
        try store.start()
        return store
    }
}

/// A wall clock and one that never goes back.
final class MovedClocks: Sendable {
    private struct State {
        var microseconds: Int64 = 1_700_000_000_000_000
        var latest: Int64 = 1_700_000_000_000_000
        var elapsed: Duration = .zero
    }

    private let state = Mutex(State())

    var now: Timestamp { Timestamp(microseconds: state.withLock { $0.microseconds }) }
    /// The latest that the wall clock ever said.
    var latest: Timestamp { Timestamp(microseconds: state.withLock { $0.latest }) }
    var elapsed: Duration { state.withLock { $0.elapsed } }

    func move(seconds: Int64) {
        state.withLock { state in
            state.microseconds += seconds * 1_000_000
            state.latest = max(state.latest, state.microseconds)
            state.elapsed += .seconds(max(seconds, 0))
        }
    }
}
