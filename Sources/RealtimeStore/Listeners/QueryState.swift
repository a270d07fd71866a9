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
    // With the bytes that each took, which count for each window.
    private var entries: [Place: (entry: RealtimeIndexEntry?, bytes: Int)] = [:]
    private var nodes: [RealtimePath: (node: RealtimeNode?, bytes: Int)] = [:]
    private var keptBytes = 0

    init(_ snapshot: RealtimeSnapshot) { self.snapshot = snapshot }

    /// The place of a child in a query's order; nil if it doesn't exist.
    func entry(
        of key: RealtimeKey, at path: RealtimePath, by index: RealtimeQuery.Index, counting bytes: inout ReadBytes
    ) throws -> RealtimeIndexEntry? {
        let place = Place(path: path, key: key, index: index)
        if let known = entries[place] {
            try bytes.add(known.bytes)
            return known.entry
        }
        let before = bytes.count
        let entry = try snapshot.entry(of: key, at: TreeKey.of(path), by: index, counting: &bytes)
        keep(bytes.count - before)
        entries[place] = (entry, bytes.count - before)
        return entry
    }

    func node(at path: RealtimePath, counting bytes: inout ReadBytes) throws -> RealtimeNode? {
        if let known = nodes[path] {
            try bytes.add(known.bytes)
            return known.node
        }
        let before = bytes.count
        let node = try snapshot.node(at: path, counting: &bytes)
        keep(bytes.count - before)
        nodes[path] = (node, bytes.count - before)
        return node
    }

    /// Forgets what was read when it is as much as one window may read.
    private func keep(_ bytes: Int) {
        if keptBytes > snapshot.limits.maxBytes {
            entries = [:]
            nodes = [:]
            keptBytes = 0
        }
        keptBytes += bytes
    }
}
