import DocumentModel
import WorkerProtocol

/// The same operations for any documents that functions may have, and what each was answered, without what differs from
/// one store to another by right: times, ids of transactions and the words of errors.
struct DocumentScript {
    let documents: any DocumentBackend
    let database: DatabaseID
    private(set) var entries: [Entry] = []
    private let context = OperationContext(owner: 1)

    struct Entry: Equatable, CustomStringConvertible {
        var name: String
        var response: DocumentResponse
        var description: String { "\(name): \(response)" }
        var isRefused: Bool { if case .failed = response { true } else { false } }
    }

    init(_ documents: any DocumentBackend, database: DatabaseID) {
        self.documents = documents
        self.database = database
    }

    static let root = "alone"

    func path(_ path: String) throws -> DocumentPath { try DocumentPath(path) }

    func reference(_ path: String) throws -> Value {
        .reference(DocumentName(database: database, path: try self.path(path)))
    }

    /// Does an operation without noting it.
    func perform(_ request: DocumentRequest, in context: OperationContext? = nil) async -> DocumentResponse {
        await request.perform(on: FunctionBackends(documents: documents), in: context ?? self.context)
    }

    /// Does an operation and notes its answer.
    @discardableResult
    mutating func ask(
        _ name: String, _ request: DocumentRequest, in context: OperationContext? = nil
    ) async -> DocumentResponse {
        let response = await perform(request, in: context)
        entries.append(Entry(name: name, response: response.timeless))
        return response
    }

    @discardableResult
    mutating func commit(_ name: String, _ writes: Write..., transaction: TransactionID? = nil) async
        -> DocumentResponse
    {
        await ask(name, .commit(writes, transaction: transaction, completing: nil))
    }

    mutating func get(_ name: String, _ paths: String..., in consistency: ReadConsistency = .strong) async throws {
        await ask(name, .get(try paths.map { try path($0) }, consistency))
    }

    mutating func begin(_ name: String, retrying: TransactionID? = nil) async throws -> TransactionID {
        let response = await ask(name, .begin(.readWrite(retrying: retrying)))
        guard case .began(let id, _) = response else { throw DocumentError(.unknown, "\(name): \(response)") }
        return id
    }

    static func set(_ path: DocumentPath, _ fields: [String: Value], _ precondition: Write.Precondition? = nil) -> Write
    {
        Write(path: path, operation: .set(fields), precondition: precondition)
    }
}

extension DocumentResponse {
    fileprivate var timeless: DocumentResponse {
        let zero = Timestamp(microseconds: 0)
        switch self {
        case .documents(let documents, _): return .documents(documents.map { $0?.timeless }, readTime: zero)
        case .results(let documents, _): return .results(documents.map(\.timeless), readTime: zero)
        case .aggregated(let values, _): return .aggregated(values, readTime: zero)
        case .explained(_, let results, let values, _):
            return .explained(
                QueryExplanation(indexes: [], steps: []), results: results.map(\.timeless), values: values,
                readTime: zero)
        case .partitioned(let paths, _): return .partitioned(paths, readTime: zero)
        // Our store prefetches documents for a retried transaction; other services are asked for them.
        case .began: return .began(TransactionID(rawValue: 0), prefetched: [])
        case .committed(let result):
            return .committed(
                CommitResult(commitTime: zero, writeResults: result.writeResults.map(\.timeless)))
        case .written(let results):
            return .written(results.map { $0.map(\.timeless).mapError { DocumentError($0.code, "") } })
        case .failed(let error): return .failed(DocumentError(error.code, ""))
        case .listed(let ids, let next): return .listed(ids, next: next.map { _ in "" })
        case .descendants(let paths): return .descendants(paths.sorted { $0.string < $1.string })
        case .collections, .rolledBack, .claimed, .settled, .completed, .keyReused, .users, .usersRefused, .database:
            return self
        }
    }
}

extension DocumentModel.Document {
    fileprivate var timeless: DocumentModel.Document {
        let zero = Timestamp(microseconds: 0)
        return .init(path: path, fields: fields, createTime: zero, updateTime: zero)
    }
}

extension WriteResult {
    fileprivate var timeless: WriteResult {
        WriteResult(
            updateTime: updateTime.map { _ in Timestamp(microseconds: 0) },
            transformResults: transformResults.map { value in
                if case .timestamp = value { .timestamp(Timestamp(microseconds: 0)) } else { value }
            })
    }
}
