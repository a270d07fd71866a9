import CommitPipeline
import DocumentModel
import RealtimeModel

/// The whole result of a query, for a window that couldn't be brought up to date at once.
struct QueryResult: Sendable {
    var version: Int64
    var window: QueryWindow
    var node: RealtimeNode?
}

/// Reads a query's whole result on a reader's thread: it looks at more than the listeners' thread may, for which all
/// callers and listeners would wait.
struct QueryRefresh: SnapshotJob {
    let group: QueryGroup
    let namespace: String
    let catalogs: CatalogCache
    let limits: RealtimeReadLimits
    /// What the result, which is pushed as a whole, may have.
    let maxBytes: Int
    let completion: @Sendable (Result<QueryResult, RealtimeFailure>) -> Void

    func run(on snapshot: Snapshot) {
        let (path, query) = (group.path, group.query)
        let result = Result { () throws -> QueryResult in
            let state = RealtimeSnapshot(
                try catalogs.catalog(of: snapshot).record(of: namespace), in: snapshot, limits: limits)
            let matches = try state.matches(of: query, at: path)
            var bytes = ReadBytes(RealtimeReadLimits(maxBytes: maxBytes))
            let node = try state.node(at: path, of: matches.keys, counting: &bytes)
            return QueryResult(version: snapshot.version, window: QueryWindow(matches.entries, query), node: node)
        }.mapError { RealtimeFailure(from: $0) }
        completion(result)
    }

    func fail(_ error: DocumentError) { completion(.failure(RealtimeFailure(from: error))) }
}
