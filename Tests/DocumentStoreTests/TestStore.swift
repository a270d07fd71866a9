import TestSupport
import CommitPipeline
import DocumentModel
import DocumentStore
import StorageEngine
import StoreTestSupport
import Testing

/// A started store for one test.
struct TestStore {
    let directory: TemporaryDirectory
    let clock = ManualClock()
    let store: DocumentStore

    /// Transactions that conflict again and again don't wait for one another: see `HotDocumentTests`.
    static var configuration: StoreConfiguration {
        var configuration = StoreConfiguration()
        configuration.hotTime = .zero
        return configuration
    }

    init(
        _ kind: EngineKind = .memory, configuration: StoreConfiguration = TestStore.configuration,
        commits: CommitConfiguration = CommitConfiguration(),
        beside add: (CommitPipeline) throws -> Void = { _ in }
    ) throws {
        let directory = try TemporaryDirectory()
        try self.init(engine: kind.make(in: directory), directory, configuration, commits, beside: add)
    }

    init(
        engine: any StorageEngine, configuration: StoreConfiguration = TestStore.configuration,
        commits: CommitConfiguration = CommitConfiguration(),
        beside add: (CommitPipeline) throws -> Void = { _ in }
    ) throws {
        try self.init(engine: engine, try TemporaryDirectory(), configuration, commits, beside: add)
    }

    /// - Parameter add: adds other kinds of data.
    private init(
        engine: any StorageEngine, _ directory: TemporaryDirectory, _ configuration: StoreConfiguration,
        _ commits: CommitConfiguration, beside add: (CommitPipeline) throws -> Void
    ) throws {
        self.directory = directory
        let pipeline = try CommitPipeline(
            engine: engine, now: clock.timestamp, elapsed: clock.elapsed, configuration: commits)
        try add(pipeline)
        store = try DocumentStore(on: pipeline, configuration: configuration)
        try store.start()
    }

    func get(
        _ path: String, in transaction: TransactionID? = nil, context: OperationContext = OperationContext()
    ) async throws -> Document? {
        let answer = try await store.get(
            [DocumentPath(path)], ReadConsistency(transaction: transaction), in: context)
        return try #require(answer.documents.first)
    }

    func query(
        _ query: Query, in transaction: TransactionID? = nil, context: OperationContext = OperationContext()
    ) async throws -> [Document] {
        try await store.query(query, ReadConsistency(transaction: transaction), in: context).documents
    }

    func ids(
        _ place: ListedIDs, after: String? = nil, atMost limit: Int = .max, at time: Timestamp
    ) async throws -> [String] {
        try await withCheckedContinuation { continuation in
            store.ids(place, after: after, atMost: limit, .at(time), in: OperationContext()) {
                continuation.resume(returning: $0)
            }
        }.get()
    }

    func begin(
        _ mode: TransactionMode = .readWrite(retrying: nil), context: OperationContext = OperationContext()
    ) async throws -> TransactionID {
        try await store.begin(mode, in: context).transaction.0
    }

    @discardableResult
    func commit(
        _ writes: [Write], in transaction: TransactionID? = nil, context: OperationContext = OperationContext()
    ) async throws -> CommitResult {
        try await store.commit(writes, transaction: transaction, in: context).result
    }

    @discardableResult
    func set(
        _ path: String, _ fields: [String: Value], in transaction: TransactionID? = nil
    ) async throws -> CommitResult {
        try await commit([Write(path: try DocumentPath(path), operation: .set(fields))], in: transaction)
    }
}

/// Runs the body with a started store, which is shut down however the body ends.
func withStore(_ test: TestStore, _ body: (TestStore) async throws -> Void) async throws {
    do {
        try await body(test)
    } catch {
        await test.store.shutdown()
        throw error
    }
    await test.store.shutdown()
}

/// Runs the body with a new store of its own.
func withStore(
    _ kind: EngineKind = .memory, configuration: StoreConfiguration = TestStore.configuration,
    commits: CommitConfiguration = CommitConfiguration(), _ body: (TestStore) async throws -> Void
) async throws {
    try await withStore(try TestStore(kind, configuration: configuration, commits: commits), body)
}

/// Runs the body with a new store on an engine.
func withStore(
    engine: any StorageEngine, configuration: StoreConfiguration = TestStore.configuration,
    commits: CommitConfiguration = CommitConfiguration(), _ body: (TestStore) async throws -> Void
) async throws {
    try await withStore(try TestStore(engine: engine, configuration: configuration, commits: commits), body)
}

extension DocumentStore {
    /// Commits without waiting.
    func submit(
        _ writes: [Write], completing answer: [UInt8]? = nil, in context: OperationContext = OperationContext(),
        completion: @escaping Completion<CommitAnswer> = { _ in }
    ) {
        commit(writes, transaction: nil, completing: answer, effects: [], in: context, completion: completion)
    }
}

extension BeginAnswer {
    var transaction: (TransactionID, [TransactionRead]) {
        get throws {
            guard case .began(let id, let prefetched) = self else {
                throw DocumentError(.unknown, "unexpected answer \(self)")
            }
            return (id, prefetched)
        }
    }
}

/// The code with which an operation is refused; nil if it isn't.
func refusal(_ body: () async throws -> Void) async -> DocumentError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? DocumentError
    }
}
