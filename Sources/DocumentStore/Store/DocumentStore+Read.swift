import CommitPipeline
import StorageEngine
import DocumentModel
import Synchronization

extension DocumentStore {
    /// Answers a read, or a begin that needn't wait for a turn, on a snapshot.
    ///
    /// - Returns: nil if the transaction has seen a later state than this snapshot.
    func read(_ operation: StoreOperation, _ view: DocumentView, version: Int64) throws -> DocumentResponse? {
        switch operation.request {
        case .get(let paths, let consistency):
            let state = try state(
                consistency, ReadSet(documents: Set(paths)), operation.context, view, version
            ) { policy, view in
                // Checked before anything is recorded or collected: a refusal ends the read at the first document.
                let access = parts.accessView(view)
                for path in paths { try policy.check(.get(path, try view.document(path)), in: access) }
            }
            guard let state else { return nil }
            var budget = ReadBudget(configuration.maxReadBytes)
            let documents = try paths.map { try state.view.document($0, within: &budget) }
            return .documents(documents, readTime: state.time)
        case .query(let query, let consistency):
            let normalized = try NormalizedQuery(query)
            let state = try state(
                consistency, ReadSet(queries: [query: normalized]), operation.context, view, version
            ) { policy, view in
                try policy.check(.list(query), in: parts.accessView(view))
            }
            guard let state else { return nil }
            return try self.query(query, normalized, state)
        case .aggregate(let query, let fields, let consistency):
            // In a transaction it counts as a read of the query.
            let normalized = try NormalizedQuery(query)
            let reads = ReadSet(queries: [query: normalized], aggregated: [query])
            let state = try state(consistency, reads, operation.context, view, version) { policy, view in
                try policy.check(.list(query), in: parts.accessView(view))
            }
            return try state.map { try aggregate(query, normalized, fields, $0) }
        case .explain(let query, let fields, let analyze, let consistency):
            let normalized = try NormalizedQuery(query)
            let reads = analyze ? ReadSet(queries: [query: normalized], aggregated: [query]) : ReadSet()
            let state = try state(consistency, reads, operation.context, view, version) { policy, view in
                try policy.check(.list(query), in: parts.accessView(view))
            }
            return try state.map { try explain(query, normalized, fields, analyze: analyze, $0) }
        case .partition(let query, let points, let consistency):
            let reads = ReadSet(queries: [query: try NormalizedQuery(query)], aggregated: [query])
            let state = try state(consistency, reads, operation.context, view, version) { policy, view in
                try policy.check(.list(query), in: parts.accessView(view))
            }
            return try state.map { state in
                let places = try QueryPartition.split(query, points: points, in: state.view, QueryMeter())
                return .partitioned(places, readTime: state.time)
            }
        case .begin(let mode):
            if let key = operation.context.completion,
                let earlier = try CompletionRecord.answer(to: key, in: view.storage, at: now())
            {
                return earlier.response
            }
            var past: Int64?
            if let time = mode.readTime {
                guard let version = try self.version(at: time, view.storage, snapshot: version) else { return nil }
                past = version
            }
            let time = elapsed()
            let id = try parts.transactions.withLock { table throws(DocumentError) in
                try table.begin(isReadOnly: mode.isReadOnly, seeing: past, context: operation.context, at: time)
            }
            return .began(id, prefetched: [])
        case .commit, .batchWrite, .rollback:
            throw DocumentError(.internal, "a change was asked of a reader")
        }
    }
}
