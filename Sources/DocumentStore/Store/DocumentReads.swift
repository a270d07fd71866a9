import CommitPipeline
import DocumentModel
import Synchronization

// Each read is a type of its own, and not a closure: a closure would be allocated for each read.

struct GetRead: DocumentRead {
    let store: DocumentStore
    let paths: [DocumentPath]
    let consistency: ReadConsistency
    let context: OperationContext
    let completion: DocumentStore.Completion<DocumentsAnswer>

    var readTime: Timestamp? { consistency.time }
    /// A single document waits for no query, not even the caller's own. That of an earlier state may take long: whether
    /// a missing document was there is seen in the log only.
    var caller: ReadCaller? { paths.count > 1 || readTime != nil ? context.client : context.clientGet }

    func answer(from view: DocumentView, version: Int64) throws -> DocumentsAnswer? {
        do {
            return try answer(from: view, version: version, store.parts.meter(context))
        } catch let exceeded as QueryMeter.Exceeded {
            throw exceeded.error(nil)
        }
    }

    private func answer(
        from view: DocumentView, version: Int64, _ meter: QueryMeter
    ) throws -> DocumentsAnswer? {
        // A single document is read once for the check and the answer.
        var checked: Document??
        let state = try store.state(consistency, ReadSet(documents: Set(paths)), context, view, version) {
            policy, view in
            // Checked before anything is recorded or collected: a refusal ends the read at the first document.
            let access = store.parts.accessView(view)
            for path in paths {
                let document = try view.document(path, meter)
                try policy.check(.get(path, document), in: access)
                try meter.noteDecision()
                if paths.count == 1, consistency == .strong { checked = .some(document) }
            }
        }
        guard let state else { return nil }
        var budget = ReadBudget(store.configuration.maxReadBytes, answer: context.answer)
        let documents = try paths.map { path in
            let document = try checked ?? state.view.document(path, meter)
            try budget.take(document, at: path)
            return document
        }
        // Also a transaction's, if it sees the snapshot's own state.
        if state.time.microseconds == version {
            store.parts.cache.add(documents, at: paths, version: version) { path in
                store.parts.transactions.withLock { $0.changes.newest(of: path) }
            }
        }
        return DocumentsAnswer(documents: documents, readTime: state.time)
    }

    func complete(_ result: Result<DocumentsAnswer, DocumentError>) { completion(result) }
}

struct QueryRead: DocumentRead {
    let store: DocumentStore
    let query: Query
    let consistency: ReadConsistency
    let context: OperationContext
    let completion: DocumentStore.Completion<QueryAnswer>

    var caller: ReadCaller? { context.client }
    var readTime: Timestamp? { consistency.time }

    func answer(from view: DocumentView, version: Int64) throws -> QueryAnswer? {
        if query.coversAllCollections {
            return try store.allCollections(query, consistency, context, view, version)
        }
        let normalized = try NormalizedQuery(query)
        let reads = ReadSet(queries: [query: normalized])
        let state = try store.listState(query, consistency, reads, context, view, version)
        return try state.map { try store.query(query, normalized, $0, context) }
    }

    func complete(_ result: Result<QueryAnswer, DocumentError>) { completion(result) }
}

/// In a transaction it counts as a read of the query.
struct NearestRead: DocumentRead {
    let store: DocumentStore
    let search: VectorSearch
    let query: Query
    let isRun: Bool
    let consistency: ReadConsistency
    let context: OperationContext
    let completion: DocumentStore.Completion<ExplainAnswer>

    var caller: ReadCaller? { context.client }
    var readTime: Timestamp? { consistency.time }

    func answer(from view: DocumentView, version: Int64) throws -> ExplainAnswer? {
        let normalized = try NormalizedQuery(query, nearest: search)
        // Without the search, as the same query may have been read or be read without it, too.
        let reads = ReadSet(queries: [query: try NormalizedQuery(query)], aggregated: [query])
        // Rules see the search's limit as that of the query.
        var listed = query
        listed.limit = search.limit
        let state = try store.listState(listed, consistency, isRun ? reads : ReadSet(), context, view, version)
        return try state.map { try store.nearest(search, normalized, isRun: isRun, $0, context) }
    }

    func complete(_ result: Result<ExplainAnswer, DocumentError>) { completion(result) }
}

/// In a transaction it counts as a read of the query.
struct AggregateRead: DocumentRead {
    let store: DocumentStore
    let query: Query
    let fields: [AggregateField]
    let consistency: ReadConsistency
    let context: OperationContext
    let completion: DocumentStore.Completion<AggregateAnswer>

    var caller: ReadCaller? { context.client }
    var readTime: Timestamp? { consistency.time }

    func answer(from view: DocumentView, version: Int64) throws -> AggregateAnswer? {
        let normalized = try NormalizedQuery(query)
        let reads = ReadSet(queries: [query: normalized], aggregated: [query])
        let state = try store.listState(query, consistency, reads, context, view, version)
        return try state.map { try store.aggregate(query, normalized, fields, $0, context) }
    }

    func complete(_ result: Result<AggregateAnswer, DocumentError>) { completion(result) }
}

struct ExplainRead: DocumentRead {
    let store: DocumentStore
    let query: Query
    /// The fields of an aggregation; empty for a query.
    let fields: [AggregateField]
    let analyze: Bool
    let consistency: ReadConsistency
    let context: OperationContext
    let completion: DocumentStore.Completion<ExplainAnswer>

    var caller: ReadCaller? { context.client ?? .maintenance }
    var readTime: Timestamp? { consistency.time }

    func answer(from view: DocumentView, version: Int64) throws -> ExplainAnswer? {
        let normalized = try NormalizedQuery(query)
        let reads = analyze ? ReadSet(queries: [query: normalized], aggregated: [query]) : ReadSet()
        let state = try store.listState(query, consistency, reads, context, view, version)
        return try state.map { try store.explain(query, normalized, fields, analyze: analyze, $0, context) }
    }

    func complete(_ result: Result<ExplainAnswer, DocumentError>) { completion(result) }
}

struct PartitionRead: DocumentRead {
    let store: DocumentStore
    let query: Query
    let points: Int
    let consistency: ReadConsistency
    let context: OperationContext
    let completion: DocumentStore.Completion<PartitionAnswer>

    var caller: ReadCaller? { context.client ?? .maintenance }
    var readTime: Timestamp? { consistency.time }

    func answer(from view: DocumentView, version: Int64) throws -> PartitionAnswer? {
        let reads = ReadSet(queries: [query: try NormalizedQuery(query)], aggregated: [query])
        guard let state = try store.listState(query, consistency, reads, context, view, version) else { return nil }
        let points = try QueryPartition.split(
            query, points: points, in: state.view, store.parts.meter(context),
            maxBytes: store.configuration.maxReadBytes)
        return PartitionAnswer(points: points, readTime: state.time)
    }

    func complete(_ result: Result<PartitionAnswer, DocumentError>) { completion(result) }
}

/// The begin of a transaction that sees a state in the past, or whose function may have completed before under its key.
struct BeginRead: DocumentRead {
    let store: DocumentStore
    let mode: TransactionMode
    let context: OperationContext
    let completion: DocumentStore.Completion<BeginAnswer>

    var readTime: Timestamp? { mode.readTime }
    var caller: ReadCaller? { context.clientGet }

    func answer(from view: DocumentView, version: Int64) throws -> BeginAnswer? {
        if let key = context.completion,
            let earlier = try CompletionRecord.answer(
                to: key, in: view.storage, at: store.now(), within: context.answer)
        {
            return BeginAnswer(earlier)
        }
        guard let readTime else { return try store.beginNow(mode, in: context) }
        guard let past = try store.version(at: readTime, view.storage, snapshot: version) else { return nil }
        return try store.beginNow(mode, seeing: past, in: context)
    }

    func complete(_ result: Result<BeginAnswer, DocumentError>) { completion(result) }
}

extension DocumentStore {
    /// The state that a query sees, if the policy allows the query.
    fileprivate func listState(
        _ query: Query, _ consistency: ReadConsistency, _ reads: @autoclosure () -> ReadSet,
        _ context: OperationContext, _ view: DocumentView, _ version: Int64
    ) throws -> ReadState? {
        try state(consistency, reads(), context, view, version) { policy, view in
            try policy.check(.list(query.withStoredTimes), in: parts.accessView(view))
        }
    }
}

extension OperationContext {
    /// The client whose turn a read waits for; nil for functions and the host itself.
    var client: ReadCaller? { policy == nil ? nil : .client(owner ?? 0) }

    /// The same for a short read.
    var clientGet: ReadCaller? { policy == nil ? nil : .clientGet(owner ?? 0) }
}

extension ReadConsistency {
    /// The time of the state, if the caller names it.
    var time: Timestamp? { if case .at(let time) = self { time } else { nil } }
}
