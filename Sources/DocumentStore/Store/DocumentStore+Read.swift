import DocumentModel
import Synchronization

extension DocumentStore {
    /// Answers a read, or a begin that waits for nobody, on a snapshot.
    ///
    /// - Returns: nil where the transaction has seen a later state than this snapshot.
    func read(_ operation: StoreOperation, _ view: DocumentView, version: Int64) throws -> DocumentResponse? {
        switch operation.request {
        case .get(let paths, let consistency):
            let transaction = try transaction(of: consistency)
            if let policy = operation.context.policy {
                // Before anything is noted or gathered: a refusal ends it at the first document.
                let access = accessView(view)
                for path in paths { try policy.check(.get(path, try view.document(path)), in: access) }
            }
            let reads = ReadSet(documents: Set(paths))
            guard let view = try enter(transaction, operation.context, reads, view, version) else { return nil }
            var budget = ReadBudget(configuration.maxReadBytes)
            let documents = try paths.map { try view.document($0, within: &budget) }
            return .documents(documents, readTime: readTime(of: transaction, version))
        case .query(let query, let consistency):
            let transaction = try transaction(of: consistency)
            try operation.context.policy?.check(.list(query), in: accessView(view))
            let normalized = try NormalizedQuery(query)
            let reads = ReadSet(queries: [query: normalized])
            guard let view = try enter(transaction, operation.context, reads, view, version) else { return nil }
            let results = try normalized.run(in: view, within: ReadBudget(configuration.maxReadBytes))
            return .results(results, readTime: readTime(of: transaction, version))
        case .begin(let mode):
            if let key = operation.context.completion,
                let response = try CompletionRecord.response(to: key, in: view.storage, at: now())
            {
                return response
            }
            let time = elapsed()
            let id = try transactions.withLock { table throws(DocumentError) in
                try table.begin(isReadOnly: mode.isReadOnly, context: operation.context, at: time)
            }
            return .began(id, prefetched: [])
        case .aggregate, .explain, .partition:
            throw DocumentError(.unimplemented, "the store doesn't know this operation yet")
        case .commit, .batchWrite, .rollback:
            throw DocumentError(.internal, "a change was asked of a reader")
        }
    }

    private func transaction(of consistency: ReadConsistency) throws(DocumentError) -> TransactionID? {
        switch consistency {
        case .strong: nil
        case .transaction(let transaction): transaction
        case .at: throw DocumentError(.unimplemented, "the store doesn't know reads in the past yet")
        }
    }

    func accessView(_ view: DocumentView) -> AccessView {
        AccessView(time: now(), document: view.document, documentAfter: view.document)
    }

    /// Notes the read with its transaction, and finds the state that it is to see.
    private func enter(
        _ transaction: TransactionID?, _ context: OperationContext, _ reads: ReadSet, _ view: DocumentView,
        _ version: Int64
    ) throws -> DocumentView? {
        guard let transaction else { return view }
        let time = elapsed()
        let decision = try transactions.withLock { table throws(DocumentError) in
            try table.read(transaction, owner: context.owner, reads, snapshot: version, at: time)
        }
        switch decision {
        case .current: return view
        case .past(let documents): return DocumentView(view.storage, view.catalog, past: documents)
        case .later: return nil
        }
    }

    /// A read-only transaction's reads all have the time of its first.
    private func readTime(of transaction: TransactionID?, _ version: Int64) -> Timestamp {
        let own = transaction.flatMap { id in transactions.withLock { $0.version(of: id) } }
        return Timestamp(microseconds: own ?? version)
    }
}
