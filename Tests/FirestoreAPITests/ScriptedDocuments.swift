import DocumentModel
import FirestoreAPI
import Synchronization

/// A document service that expects certain calls in order, and returns their scripted answers.
final class ScriptedDocuments: DocumentService {
    enum Call: Equatable {
        case get([DocumentPath], ReadConsistency)
        case query(Query, ReadConsistency)
        case aggregate(Query, [AggregateField], ReadConsistency)
        case explain(Query, [AggregateField], analyze: Bool, ReadConsistency)
        case nearest(VectorSearch, Query, analyze: Bool?, ReadConsistency)
        case partition(Query, points: Int, ReadConsistency)
        case begin(TransactionMode)
        case commit([Write], transaction: TransactionID?)
        case batchWrite([Write])
        case rollback(TransactionID)
    }

    enum Answer {
        case documents([Document?], readTime: Timestamp)
        case results([Document], readTime: Timestamp)
        case aggregated([Value], readTime: Timestamp)
        case explained(QueryExplanation, results: [Document], values: [Value], readTime: Timestamp)
        case partitioned([DocumentPath], readTime: Timestamp)
        case began(TransactionID)
        case committed(CommitResult)
        case written([Result<WriteResult, DocumentError>])
        case rolledBack
        case failed(DocumentError)
    }

    struct Step {
        var call: Call
        var principal: Principal
        var answer: Answer

        init(_ call: Call, as principal: Principal = .admin, _ answer: Answer) {
            self.call = call
            self.principal = principal
            self.answer = answer
        }
    }

    private let steps: Mutex<[Step]>
    private let unexpected = Mutex<[Call]>([])
    private let cleared = Mutex(0)
    private let collections: [String]

    init(_ steps: [Step] = [], collections: [String] = []) {
        self.steps = Mutex(steps)
        self.collections = collections
    }

    var clearCount: Int { cleared.withLock { $0 } }

    var isDone: Bool { steps.withLock { $0.isEmpty } && unexpected.withLock { $0.isEmpty } }

    private func answer(_ call: Call, _ principal: Principal) throws(DocumentError) -> Answer {
        let step = steps.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        guard let step, step.call == call, step.principal == principal else {
            unexpected.withLock { $0.append(call) }
            throw DocumentError(.internal, "unexpected: \(call) as \(principal)")
        }
        if case .failed(let error) = step.answer { throw error }
        return step.answer
    }

    private func mismatch(_ answer: Answer) -> DocumentError {
        DocumentError(.internal, "the script has another kind of answer: \(answer)")
    }

    func get(
        _ paths: [DocumentPath], _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> DocumentsAnswer {
        let answer = try answer(.get(paths, consistency), principal)
        guard case .documents(let documents, let time) = answer else { throw mismatch(answer) }
        return DocumentsAnswer(documents: documents, readTime: time)
    }

    func query(
        _ query: Query, _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> QueryAnswer {
        let answer = try answer(.query(query, consistency), principal)
        guard case .results(let documents, let time) = answer else { throw mismatch(answer) }
        return QueryAnswer(documents: documents, readTime: time)
    }

    func aggregate(
        _ query: Query, _ fields: [AggregateField], _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> AggregateAnswer {
        let answer = try answer(.aggregate(query, fields, consistency), principal)
        guard case .aggregated(let values, let time) = answer else { throw mismatch(answer) }
        return AggregateAnswer(values: values, readTime: time)
    }

    func nearest(
        _ search: VectorSearch, of query: Query, analyze: Bool?, _ consistency: ReadConsistency,
        as principal: Principal
    ) async throws(DocumentError) -> ExplainAnswer {
        let answer = try answer(.nearest(search, query, analyze: analyze, consistency), principal)
        guard case .explained(let explanation, let documents, let values, let time) = answer else {
            throw mismatch(answer)
        }
        return ExplainAnswer(explanation: explanation, documents: documents, values: values, readTime: time)
    }

    func explain(
        _ query: Query, _ fields: [AggregateField], analyze: Bool, _ consistency: ReadConsistency,
        as principal: Principal
    ) async throws(DocumentError) -> ExplainAnswer {
        let answer = try answer(.explain(query, fields, analyze: analyze, consistency), principal)
        guard case .explained(let explanation, let documents, let values, let time) = answer else {
            throw mismatch(answer)
        }
        return ExplainAnswer(explanation: explanation, documents: documents, values: values, readTime: time)
    }

    func partition(
        _ query: Query, points: Int, _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> PartitionAnswer {
        let answer = try answer(.partition(query, points: points, consistency), principal)
        guard case .partitioned(let paths, let time) = answer else { throw mismatch(answer) }
        return PartitionAnswer(points: paths, readTime: time)
    }

    func begin(_ mode: TransactionMode, as principal: Principal) async throws(DocumentError) -> TransactionID {
        let answer = try answer(.begin(mode), principal)
        guard case .began(let transaction) = answer else { throw mismatch(answer) }
        return transaction
    }

    func commit(
        _ writes: [Write], transaction: TransactionID?, as principal: Principal
    ) async throws(DocumentError) -> CommitResult {
        let answer = try answer(.commit(writes, transaction: transaction), principal)
        guard case .committed(let result) = answer else { throw mismatch(answer) }
        return result
    }

    func batchWrite(
        _ writes: [Write], as principal: Principal
    ) async throws(DocumentError) -> [Result<WriteResult, DocumentError>] {
        let answer = try answer(.batchWrite(writes), principal)
        guard case .written(let results) = answer else { throw mismatch(answer) }
        return results
    }

    func rollback(_ transaction: TransactionID, as principal: Principal) async throws(DocumentError) {
        let answer = try answer(.rollback(transaction), principal)
        guard case .rolledBack = answer else { throw mismatch(answer) }
    }

    func ids(
        _ place: ListedIDs, after: String?, atMost limit: Int, _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> [String] {
        guard principal == .admin else { throw DocumentError(.permissionDenied, "not for clients") }
        guard case .collections = place else {
            throw DocumentError(.unimplemented, "no document has others below it")
        }
        return Array(collections.filter { id in after.map { $0 < id } ?? true }.prefix(limit))
    }

    func clear() async throws(DocumentError) { cleared.withLock { $0 += 1 } }
}
