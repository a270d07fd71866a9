import RealtimeModel

/// A namespace in the state that windows are brought up to. What several windows need is read once.
///
/// Used by the listeners' thread.
final class QueryState {
    private struct Place: Hashable {
        var path: RealtimePath
        var key: RealtimeKey
        var index: RealtimeQuery.Index
    }

    let snapshot: RealtimeSnapshot
    private var entries: [Place: RealtimeIndexEntry?] = [:]
    private var nodes: [RealtimePath: RealtimeNode?] = [:]

    init(_ snapshot: RealtimeSnapshot) { self.snapshot = snapshot }

    /// The place of a child in a query's order; nil if it doesn't exist.
    func entry(of key: RealtimeKey, at path: RealtimePath, by index: RealtimeQuery.Index) throws -> RealtimeIndexEntry?
    {
        let place = Place(path: path, key: key, index: index)
        if let known = entries[place] { return known }
        let entry = try snapshot.entry(of: key, at: TreeKey.of(path), by: index)
        entries[place] = .some(entry)
        return entry
    }

    func node(at path: RealtimePath) throws -> RealtimeNode? {
        if let known = nodes[path] { return known }
        let node = try snapshot.node(at: path)
        nodes[path] = .some(node)
        return node
    }
}
