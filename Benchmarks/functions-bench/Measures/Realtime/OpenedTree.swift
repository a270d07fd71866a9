import CommitPipeline
import DocumentModel
import Foundation
import RealtimeModel
import RealtimeStore
import StorageEngine

/// The Realtime Database's store in this process.
struct OpenedTree: Sendable {
    let store: RealtimeStore
    private let pipeline: CommitPipeline
    private let engine: any StorageEngine

    init(on engine: any StorageEngine) throws {
        self.engine = engine
        pipeline = try CommitPipeline(engine: engine, now: Timestamp.wallClock)
        store = try RealtimeStore(on: pipeline)
        try pipeline.start()
    }

    init(file: URL) throws { try self.init(on: try MeasuredEngine.open(file.path)) }

    func close() async throws {
        await pipeline.shutdown()
        try engine.close()
    }

    /// Opens a store, passes it to a body, and closes it.
    static func with<Value>(
        _ engine: any StorageEngine, _ body: (OpenedTree) async throws -> Value
    ) async throws -> Value {
        let tree = try OpenedTree(on: engine)
        do {
            let value = try await body(tree)
            try await tree.close()
            return value
        } catch {
            try? await tree.close()
            throw error
        }
    }

    /// Sets a leaf.
    func set(_ path: String, _ leaf: RealtimeLeaf) async throws {
        let write = RealtimeWrite.set(RealtimeTarget(try RealtimePath(path)), RealtimeWriteValue(RealtimeNode(leaf)))
        var request = RealtimeCommit([write], in: RealtimeREST.namespace)
        // As for functions, and for clients that don't listen.
        request.isAnsweredAtOnce = { true }
        try await store.commit(request)
    }

    /// Writes what JSON says at several paths.
    func update(_ path: String, _ json: String) async throws {
        let update = try RealtimeUpdate(parsing: Array(json.utf8), at: try RealtimePath(path))
        try await store.commit(RealtimeCommit([.update(update)], in: RealtimeREST.namespace))
    }
}
