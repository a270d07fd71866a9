import CommitPipeline
package import DocumentModel
import Synchronization

/// The reads, each of which a reader answers from a snapshot, or the calling thread from the cache.
extension DocumentStore {
    package func get(
        _ paths: [DocumentPath], _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<DocumentsAnswer>
    ) {
        // A reader would decide on all of a client's documents again if it had to decide on one.
        if consistency == .strong, context.policy == nil || paths.count == 1, let found = parts.find(paths),
            let answer = answer(found, paths, context)
        {
            return completion(answer)
        }
        let read = GetRead(
            store: self, paths: paths, consistency: consistency, context: context, completion: completion)
        if case .transaction(let id) = consistency, context.policy == nil {
            let time = elapsed()
            let hot = parts.transactions.withLock { $0.turnAhead(id, reading: paths, context, at: time) }
            if !hot.isEmpty {
                let job = TurnRead(read: read, transaction: id, hot: hot)
                if !pipeline.submit(job, limit: pipeline.configuration.maxWaiting) { submit(read) }
                return
            }
            if let found = parts.find(paths), let answer = answer(found, paths, in: id, context) {
                return completion(answer)
            }
        }
        submit(read)
    }

    /// What was found, if the policy decides on that without other documents, and soon enough for the calling thread.
    ///
    /// - Parameter paths: a single one if there is a policy.
    private func answer(
        _ found: DocumentCache.Found, _ paths: [DocumentPath], _ context: OperationContext
    ) -> Result<DocumentsAnswer, DocumentError>? {
        guard let policy = context.policy else { return answer(found, at: found.version, context) }
        let view = parts.accessViewAtOnce()
        do {
            try policy.check(.get(paths[0], found.documents[0].document), in: view)
        } catch {
            // Other documents may allow it.
            guard view.documentCount == 0, !(error is DecisionTooCostly) else { return nil }
            return .failure(DocumentError(from: error))
        }
        return answer(found, at: found.version, context)
    }

    /// What a transaction reads.
    ///
    /// - Returns: nil if it isn't what was found, in the state that the transaction sees.
    func answer(
        _ found: DocumentCache.Found, _ paths: [DocumentPath], in id: TransactionID, _ context: OperationContext
    ) -> Result<DocumentsAnswer, DocumentError>? {
        let (reads, time) = (ReadSet(documents: Set(paths)), elapsed())
        do throws(DocumentError) {
            let version = try parts.transactions.withLock { table throws(DocumentError) -> Int64? in
                // Otherwise it is seen on a reader's thread.
                guard table.isSeenSoon(id, at: found.version) else { return nil }
                return
                    switch try table.read(
                        id, owner: context.owner, reads, snapshot: found.version, isPatient: context.retriesCommitsOnly,
                        at: time)
                {
                case .current: found.version
                case .past(let past): paths.allSatisfy { table.changes.newest(of: $0) <= past } ? past : nil
                case .later: nil
                }
            }
            return version.map { answer(found, at: $0, context) }
        } catch {
            return .failure(error)
        }
    }

    private func answer(
        _ found: DocumentCache.Found, at version: Int64, _ context: OperationContext
    ) -> Result<DocumentsAnswer, DocumentError> {
        Result { () throws(DocumentError) in
            if context.cancellation?.isCancelled ?? false { throw .callerLeft }
            var budget = ReadBudget(configuration.maxReadBytes, answer: context.answer)
            for known in found.documents { try budget.take(known.weight) }
            return DocumentsAnswer(
                documents: found.documents.map(\.document), readTime: Timestamp(microseconds: version))
        }
    }

    package func query(
        _ query: Query, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<QueryAnswer>
    ) {
        submit(
            QueryRead(store: self, query: query, consistency: consistency, context: context, completion: completion))
    }

    /// Answers with the nearest documents and how they are found.
    ///
    /// - Parameters:
    ///   - query: the candidates; without limit, offset and cursors.
    ///   - isRun: false if there is only to be an explanation.
    package func nearest(
        _ search: VectorSearch, of query: Query, isRun: Bool, _ consistency: ReadConsistency,
        in context: OperationContext, completion: @escaping Completion<ExplainAnswer>
    ) {
        submit(
            NearestRead(
                store: self, search: search, query: query, isRun: isRun, consistency: consistency, context: context,
                completion: completion))
    }

    package func nearest(
        _ search: VectorSearch, of query: Query, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<QueryAnswer>
    ) {
        nearest(search, of: query, isRun: true, consistency, in: context) { result in
            completion(result.map { QueryAnswer(documents: $0.documents, readTime: $0.readTime) })
        }
    }

    package func aggregate(
        _ query: Query, _ fields: [AggregateField], _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<AggregateAnswer>
    ) {
        submit(
            AggregateRead(
                store: self, query: query, fields: fields, consistency: consistency, context: context,
                completion: completion))
    }

    package func explain(
        _ query: Query, _ fields: [AggregateField], analyze: Bool, _ consistency: ReadConsistency,
        in context: OperationContext, completion: @escaping Completion<ExplainAnswer>
    ) {
        submit(
            ExplainRead(
                store: self, query: query, fields: fields, analyze: analyze, consistency: consistency,
                context: context, completion: completion))
    }

    package func partition(
        _ query: Query, points: Int, _ consistency: ReadConsistency, in context: OperationContext,
        completion: @escaping Completion<PartitionAnswer>
    ) {
        submit(
            PartitionRead(
                store: self, query: query, points: points, consistency: consistency, context: context,
                completion: completion))
    }

    func submit(_ read: some DocumentRead) {
        pipeline.read(read, of: read.caller, limit: pipeline.configuration.maxWaiting)
    }
}
