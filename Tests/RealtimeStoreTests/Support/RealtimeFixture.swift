import CommitPipeline
import DocumentModel
import Foundation
import RealtimeModel
import RealtimeStore
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport

/// A store of a test's own, which can be closed and opened again.
final class RealtimeFixture: Sendable {
    static let namespace = "demo-default-rtdb"

    let clock = ManualClock()
    private let directory: TemporaryDirectory
    private let kind: EngineKind
    private let configuration: RealtimeStoreConfiguration
    private let commits: CommitConfiguration
    private let opened: Mutex<(engine: any StorageEngine, pipeline: CommitPipeline, store: RealtimeStore)>

    init(
        _ kind: EngineKind = .memory, configuration: RealtimeStoreConfiguration = RealtimeStoreConfiguration(),
        commits: CommitConfiguration = CommitConfiguration()
    ) throws {
        directory = try TemporaryDirectory()
        self.kind = kind
        self.configuration = configuration
        self.commits = commits
        let engine = try kind.make(in: directory)
        opened = Mutex(try Self.open(engine, clock, configuration, commits))
    }

    /// On an engine of the caller's, which stays open.
    init(
        on engine: any StorageEngine, configuration: RealtimeStoreConfiguration = RealtimeStoreConfiguration(),
        commits: CommitConfiguration = CommitConfiguration()
    ) throws {
        directory = try TemporaryDirectory()
        kind = .memory
        self.configuration = configuration
        self.commits = commits
        opened = Mutex(try Self.open(engine, clock, configuration, commits))
    }

    private static func open(
        _ engine: any StorageEngine, _ clock: ManualClock, _ configuration: RealtimeStoreConfiguration,
        _ commits: CommitConfiguration
    ) throws -> (any StorageEngine, CommitPipeline, RealtimeStore) {
        let pipeline = try CommitPipeline(
            engine: engine, now: clock.timestamp, elapsed: clock.elapsed, configuration: commits)
        let store = try RealtimeStore(on: pipeline, configuration: configuration)
        try pipeline.start()
        return (engine, pipeline, store)
    }

    var engine: any StorageEngine { opened.withLock { $0.engine } }
    var pipeline: CommitPipeline { opened.withLock { $0.pipeline } }
    var store: RealtimeStore { opened.withLock { $0.store } }

    /// Closes the store and opens it again, with what is durable.
    func reopen() async throws {
        await pipeline.shutdown()
        let old = engine
        if kind != .memory { try old.close() }
        let new = kind != .memory ? try kind.make(in: directory) : old
        let next = try Self.open(new, clock, configuration, commits)
        opened.withLock { $0 = next }
    }

    func close() async throws {
        await pipeline.shutdown()
        try engine.close()
    }

    // MARK: Shorter calls

    @discardableResult
    func commit(
        _ writes: RealtimeWrite..., sequence: RealtimeWriteSequence? = nil, check: RealtimeCheck? = nil
    ) async throws -> RealtimeCommitted {
        try await store.commit(
            RealtimeCommit(writes, in: Self.namespace, check: check), sequence: sequence, of: .clientCommit(1))
    }

    /// Sets a node and returns once the answer has come, blocking the thread.
    func setBlocking(_ path: String, _ node: RealtimeNode?) {
        let done = DispatchSemaphore(value: 0)
        guard let path = try? RealtimePath(path) else { return }
        let write = RealtimeWrite.set(RealtimeTarget(path), RealtimeWriteValue(node))
        store.commit(RealtimeCommit([write], in: Self.namespace)) { _ in done.signal() }
        done.wait()
    }

    /// Stages the value of a write, as the store does with a large one.
    func staged(_ json: [UInt8], at path: RealtimePath) async throws -> StagedValue? {
        let store = store
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                // Nothing here may hold the value when the caller releases it.
                continuation.resume(
                    with: Result { try json.withUnsafeBytes { try store.stage($0, at: path, in: Self.namespace) } })
            }
        }
    }

    /// The same write with a staged value, if it sets one that can be staged.
    func staged(_ write: RealtimeWrite, _ random: inout RandomTree) async throws -> RealtimeWrite {
        guard case .set(let target, let value, let hash) = write, !target.isPriority, value.serverValues.isEmpty else {
            return write
        }
        let node = value.resolved(now: 0, existing: nil)
        guard let staged = try await staged(random.json(node), at: target.path) else { return write }
        return .set(target, RealtimeWriteValue(staged), ifHash: hash)
    }

    /// Sets what JSON says.
    @discardableResult
    func set(_ path: String, _ json: String) async throws -> RealtimeCommitted {
        let target = try RealtimeTarget(path)
        return try await commit(.set(target, try RealtimeWriteValue(parsing: Array(json.utf8), at: target)))
    }

    @discardableResult
    func update(_ path: String, _ json: String) async throws -> RealtimeCommitted {
        try await commit(.update(try RealtimeUpdate(parsing: Array(json.utf8), at: try RealtimePath(path))))
    }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (RealtimeSnapshot) throws -> Result
    ) async throws -> Result {
        try await store.read(in: Self.namespace, body)
    }

    /// What is known at a path without reading. If it isn't, it is read, and known from then on.
    func known(at path: RealtimePath) async throws -> NodeCache.Known? {
        let nodes = store.nodes
        let (known, place) = nodes.find(path, in: Self.namespace)
        if let place { nodes.add(try await read { try $0.node(at: path) }, at: place) }
        return known
    }

    func json(_ path: String = "", as form: RealtimeForm = .export) async throws -> String {
        let path = try RealtimePath(path)
        return try await read { state in
            var text: [UInt8] = []
            try state.writeJSON(at: path, as: form) { text += $0 }
            return String(decoding: text, as: UTF8.self)
        }
    }

    func problems() throws -> [String] {
        var problems: [String] = []
        _ = try pipeline.check(report: { problems.append($0) }, progress: { _ in })
        return problems
    }
}
