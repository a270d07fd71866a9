import TestSupport
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

    init(_ kind: EngineKind = .memory, configuration: StoreConfiguration = StoreConfiguration()) throws {
        let directory = try TemporaryDirectory()
        try self.init(engine: kind.make(in: directory), directory, configuration)
    }

    init(engine: any StorageEngine, configuration: StoreConfiguration = StoreConfiguration()) throws {
        try self.init(engine: engine, try TemporaryDirectory(), configuration)
    }

    private init(
        engine: any StorageEngine, _ directory: TemporaryDirectory, _ configuration: StoreConfiguration
    ) throws {
        self.directory = directory
        store = try DocumentStore(
            engine: engine, now: clock.timestamp, elapsed: clock.elapsed, configuration: configuration)
        try store.start()
    }

    func get(
        _ path: String, in transaction: TransactionID? = nil, context: OperationContext = OperationContext()
    ) async throws -> Document? {
        switch await store.perform(
            .get([try DocumentPath(path)], ReadConsistency(transaction: transaction)), in: context)
        {
        case .documents(let documents, _): return try #require(documents.first)
        case let other: throw other.error
        }
    }

    func query(
        _ query: Query, in transaction: TransactionID? = nil, context: OperationContext = OperationContext()
    ) async throws -> [Document] {
        switch await store.perform(.query(query, ReadConsistency(transaction: transaction)), in: context) {
        case .results(let documents, _): return documents
        case let other: throw other.error
        }
    }

    func begin(
        _ mode: TransactionMode = .readWrite(retrying: nil), context: OperationContext = OperationContext()
    ) async throws -> TransactionID {
        switch await store.perform(.begin(mode), in: context) {
        case .began(let id, _): return id
        case let other: throw other.error
        }
    }

    @discardableResult
    func commit(
        _ writes: [Write], in transaction: TransactionID? = nil, context: OperationContext = OperationContext()
    ) async throws -> CommitResult {
        switch await store.perform(.commit(writes, transaction: transaction, completing: nil), in: context) {
        case .committed(let result): return result
        case let other: throw other.error
        }
    }

    @discardableResult
    func set(
        _ path: String, _ fields: [String: Value], in transaction: TransactionID? = nil
    ) async throws -> CommitResult {
        try await commit([Write(path: try DocumentPath(path), operation: .set(fields))], in: transaction)
    }
}

extension DocumentResponse {
    /// What an unexpected answer is thrown as.
    var error: DocumentError {
        if case .failed(let error) = self { error } else { DocumentError(.unknown, "unexpected answer \(self)") }
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
