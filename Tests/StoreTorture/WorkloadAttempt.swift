import DocumentModel
import DocumentStore
import WorkerProtocol

/// One try of one transaction: does reads and remembers what they answered.
struct WorkloadAttempt {
    let store: DocumentStore
    let context: OperationContext
    let transaction: TransactionID?
    /// Whether reads tell their own time, being of no commit.
    let isReadOnly: Bool
    var record: HistoryRecord

    /// The first document of a path; nil if there is none.
    mutating func get(_ path: DocumentPath) async throws(DocumentError) -> Document? {
        guard case .documents(let documents, _) = try await read({ .get([path], $0) }) else { return nil }
        return documents.first ?? nil
    }

    mutating func query(_ query: Query) async throws(DocumentError) -> [Document] {
        guard case .results(let documents, _) = try await read({ .query(query, $0) }) else { return [] }
        return documents
    }

    mutating func aggregate(_ query: Query, _ fields: [AggregateField]) async throws(DocumentError) -> [Value] {
        guard case .aggregated(let values, _) = try await read({ .aggregate(query, fields, $0) }) else { return [] }
        return values
    }

    /// Records what a second attempt received when it began.
    mutating func note(_ prefetched: [TransactionRead]) {
        for read in prefetched {
            let zero = Timestamp(microseconds: 0)
            switch read {
            case .document(let path, let document):
                note(.get([path], .strong), .documents([document], readTime: zero), at: nil)
            case .query(let query, let documents):
                note(.query(query, .strong), .results(documents, readTime: zero), at: nil)
            }
        }
    }

    private mutating func read(
        _ request: (ReadConsistency) -> DocumentRequest
    ) async throws(DocumentError) -> DocumentResponse {
        let response = await request(ReadConsistency(transaction: transaction)).perform(
            on: FunctionBackends(documents: store), in: context)
        switch response {
        case .failed(let error): throw error
        case .documents(_, let time), .results(_, let time), .aggregated(_, let time):
            note(request(.strong), response, at: isReadOnly ? time : nil)
        default: break
        }
        return response
    }

    private mutating func note(_ request: DocumentRequest, _ response: DocumentResponse, at time: Timestamp?) {
        record.reads.append(HistoryRecord.Read(request: request, response: response, time: time))
    }
}
