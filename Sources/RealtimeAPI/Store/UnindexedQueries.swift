import RealtimeModel
import Synchronization

/// The queries of a database that had no index, since its rules were loaded.
final class UnindexedQueries: Sendable {
    private let seen = Mutex<Set<RealtimeQueryError>>([])

    /// Paths often have ids in them: some tell enough.
    private static let maxCount = 100

    /// - Returns: whether the query is to be logged: it is new.
    func insert(_ query: RealtimeQuery, at path: RealtimePath) -> Bool {
        seen.withLock { seen in
            guard seen.count < Self.maxCount else { return false }
            return seen.insert(.indexNotDefined(index: query.index.name, path: path)).inserted
        }
    }

    func removeAll() { seen.withLock { $0 = [] } }

    /// What to add to the rules, a sentence each.
    var sentences: [String] { seen.withLock { $0.map(\.description) }.sorted() }
}
