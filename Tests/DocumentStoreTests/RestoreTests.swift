import DocumentModel
import DocumentStore
import EmbeddedStorage
import StorageEngine
import TestSupport
import StoreTestSupport
import Testing

/// What a store does with data that was restored from a backup.
struct RestoreTests {
    private let directory: TemporaryDirectory
    private let backup: String

    init() throws {
        directory = try TemporaryDirectory()
        backup = directory.file("backup.db")
    }

    /// What followed the backup in the discarded store is not what follows it now.
    @Test(arguments: EmbeddedEngineKind.allCases)
    func nobodyGoesOnFromAPositionOfADiscardedState(kind: EmbeddedEngineKind) async throws {
        let clock = ManualClock()
        let embedded = EmbeddedStore(in: directory.path, engine: kind)
        func open() throws -> (any EmbeddedEngine, DocumentStore) {
            let engine = try embedded.open()
            let store = try DocumentStore(engine: engine, now: clock.timestamp, elapsed: clock.elapsed)
            try store.start()
            return (engine, store)
        }
        func set(_ store: DocumentStore, _ id: String) async throws -> Timestamp {
            let write = Write(path: try DocumentPath("a/\(id)"), operation: .set([:]))
            return try await store.commit([write]).result.commitTime
        }
        let (engine, store) = try open()
        let kept = try await set(store, "kept")
        _ = try engine.copy(to: backup, replacing: false) { _ in }
        clock.advance(seconds: 1)
        let discarded = try await set(store, "discarded")
        await store.shutdown()
        try engine.close()

        clock.advance(seconds: 1)
        _ = try embedded.restore(backup) { _ in }
        for _ in 0..<2 {
            let (engine, store) = try open()
            #expect(try await set(store, "new") > discarded)
            for position in [kept, discarded] {
                let listener = try store.listen(to: .documents([DocumentPath("a/discarded")]), from: position)
                let first = try await listener.next()
                guard case .startOver? = first else {
                    Issue.record("\(String(describing: first))")
                    continue
                }
            }
            await store.shutdown()
            try engine.close()
        }
    }
}
