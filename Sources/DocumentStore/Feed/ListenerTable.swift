import DocumentModel

/// Listeners by the document, collection and group that they follow: a change elsewhere costs nothing per listener.
struct ListenerTable {
    private var documents: [DocumentPath: Set<UInt64>] = [:]
    private var collections: [CollectionPath: Set<UInt64>] = [:]
    private var groups: [String: Set<UInt64>] = [:]

    mutating func insert(_ id: UInt64, _ target: ListenerTarget) {
        switch target {
        case .documents(let paths):
            for path in paths { documents[path, default: []].insert(id) }
        case .query(let query): insert(id, query)
        case .window(let window): insert(id, window.query)
        }
    }

    mutating func remove(_ id: UInt64, _ target: ListenerTarget) {
        switch target {
        case .documents(let paths):
            for path in paths { Self.remove(id, from: &documents[path]) }
        case .query(let query): remove(id, query)
        case .window(let window): remove(id, window.query)
        }
    }

    /// Visits all listeners that a change may concern.
    func forEach(concernedBy change: RecentChanges.Entry, _ body: (UInt64) -> Void) {
        if !documents.isEmpty, let ids = documents[change.change.path] { ids.forEach(body) }
        if !collections.isEmpty, let ids = collections[change.collection] { ids.forEach(body) }
        if !groups.isEmpty, let ids = groups[change.group] { ids.forEach(body) }
    }

    private mutating func insert(_ id: UInt64, _ query: NormalizedQuery) {
        if query.query.allDescendants {
            groups[query.query.collectionID, default: []].insert(id)
        } else {
            collections[query.collection, default: []].insert(id)
        }
    }

    private mutating func remove(_ id: UInt64, _ query: NormalizedQuery) {
        if query.query.allDescendants {
            Self.remove(id, from: &groups[query.query.collectionID])
        } else {
            Self.remove(id, from: &collections[query.collection])
        }
    }

    private static func remove(_ id: UInt64, from ids: inout Set<UInt64>?) {
        ids?.remove(id)
        if ids?.isEmpty ?? false { ids = nil }
    }
}
