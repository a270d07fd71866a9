package import DocumentModel

/// Documents as the public APIs reach them: every operation with the principal that requests it.
package protocol DocumentService: Sendable {
    func get(
        _ paths: [DocumentPath], _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> DocumentsAnswer

    func query(
        _ query: Query, _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> QueryAnswer

    func aggregate(
        _ query: Query, _ fields: [AggregateField], _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> AggregateAnswer

    /// The documents of a query whose vectors are nearest to one.
    ///
    /// - Parameter analyze: nil to run the search; otherwise whether it is run, too, and not only explained. Explanations
    ///   are for admins only.
    func nearest(
        _ search: VectorSearch, of query: Query, analyze: Bool?, _ consistency: ReadConsistency,
        as principal: Principal
    ) async throws(DocumentError) -> ExplainAnswer

    /// For admins only: it reveals documents that a client may not see.
    func explain(
        _ query: Query, _ fields: [AggregateField], analyze: Bool, _ consistency: ReadConsistency,
        as principal: Principal
    ) async throws(DocumentError) -> ExplainAnswer

    /// For admins only: it reveals documents that a client may not see.
    func partition(
        _ query: Query, points: Int, _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> PartitionAnswer

    func begin(_ mode: TransactionMode, as principal: Principal) async throws(DocumentError) -> TransactionID

    func commit(
        _ writes: [Write], transaction: TransactionID?, as principal: Principal
    ) async throws(DocumentError) -> CommitResult

    func batchWrite(
        _ writes: [Write], as principal: Principal
    ) async throws(DocumentError) -> [Result<WriteResult, DocumentError>]

    func rollback(_ transaction: TransactionID, as principal: Principal) async throws(DocumentError)

    /// A page of ids, in order. For admins only.
    ///
    /// - Parameter after: begins after this id.
    func ids(
        _ place: ListedIDs, after: String?, atMost limit: Int, _ consistency: ReadConsistency, as principal: Principal
    ) async throws(DocumentError) -> [String]

    /// Deletes every document. For development.
    func clear() async throws(DocumentError)
}

/// The answer to a query in any of its forms.
struct FoundDocuments {
    var documents: [Document]
    /// Nil if none was asked for.
    var explanation: QueryExplanation?
    var readTime: Timestamp
}

extension DocumentService {
    /// - Parameter analyze: nil without an explanation; otherwise whether the query is run, too.
    func find(
        _ query: Query, _ nearest: VectorSearch?, analyze: Bool?, _ consistency: ReadConsistency,
        as principal: Principal
    ) async throws(DocumentError) -> FoundDocuments {
        if nearest == nil, analyze == nil {
            let found = try await self.query(query, consistency, as: principal)
            return FoundDocuments(documents: found.documents, readTime: found.readTime)
        }
        let found =
            if let nearest {
                try await self.nearest(nearest, of: query, analyze: analyze, consistency, as: principal)
            } else {
                try await explain(query, [], analyze: analyze ?? false, consistency, as: principal)
            }
        return FoundDocuments(
            documents: found.documents, explanation: analyze == nil ? nil : found.explanation,
            readTime: found.readTime)
    }

    /// Creates a document, which must not exist.
    func create(
        _ path: DocumentPath, _ fields: [String: Value], as principal: Principal
    ) async throws(DocumentError) -> Document {
        let write = Write(path: path, operation: .set(fields), precondition: .exists(false))
        try ClientCall.current?.hold([write])
        let result = try await commit([write], transaction: nil, as: principal)
        let time = result.writeResults.first?.updateTime ?? result.commitTime
        return Document(path: path, fields: fields.truncatedToMicroseconds, createTime: time, updateTime: time)
    }

    /// The document after a write that was committed, with the fields that the write left unchanged, which the commit's result
    /// doesn't contain: in the commit's state, as the principal may read it.
    ///
    /// If the principal may not read it, or reading fails, it has only the fields that were written: the commit is done.
    func document(after write: Write, _ result: CommitResult, as principal: Principal) async -> Document {
        func found(by principal: Principal) async -> Document? {
            let answer = try? await get([write.path], .at(result.commitTime), as: principal)
            return answer?.documents.first ?? nil
        }
        if let document = await found(by: principal) { return document }
        let time = result.writeResults.first?.updateTime ?? result.commitTime
        return Document(
            path: write.path, fields: write.writtenFields, createTime: await found(by: .admin)?.createTime ?? time,
            updateTime: time)
    }
}

extension [DocumentPath] {
    /// Each path once, in order: a name that a request repeats is answered once, as Firestore's reference of batch gets
    /// says.
    var withoutRepetitions: [DocumentPath] {
        guard count > 1 else { return self }
        var known: Set<DocumentPath> = []
        return filter { known.insert($0).inserted }
    }
}

extension Write {
    /// The fields that it sets by itself, as they are stored.
    fileprivate var writtenFields: [String: Value] {
        switch operation {
        case .set(let fields): fields.truncatedToMicroseconds
        case .update(let fields, let mask): FieldMask(mask).applied(to: fields).truncatedToMicroseconds
        case .delete, .verify: [:]
        }
    }
}
