import CommitPipeline
import DocumentModel
package import RealtimeModel
import StorageEngine

/// What exists at a path.
package enum RealtimeContent: Hashable, Sendable {
    case nothing
    case leaf(RealtimeLeaf)
    case object

    package var leaf: RealtimeLeaf? {
        guard case .leaf(let leaf) = self else { return nil }
        return leaf
    }
}

/// A namespace in one state: a durable one, the one within a batch, or the one that a write would lead to.
///
/// Each function reads the rows that it needs, and none throws for something that doesn't exist. They throw
/// `StorageError`, `DecodingFailure` if a row isn't what was stored, or `RealtimeFailure` for their own limits.
package struct RealtimeSnapshot {
    let rows: TreeRows
    let indexes: [RealtimeIndex]
    let limits: RealtimeReadLimits
    /// The version of the state: the time of its last commit, in microseconds.
    package let version: Int64
    /// The last query's matches, which reads of one request often need again; nil for a state that may change.
    let lastMatches: LastMatches?

    init(
        _ rows: TreeRows, indexes: [RealtimeIndex], limits: RealtimeReadLimits, version: Int64,
        remembering lastMatches: LastMatches? = nil
    ) {
        self.lastMatches = lastMatches
        self.rows = rows
        self.indexes = indexes
        self.limits = limits
        self.version = version
    }

    /// A namespace in a durable state; an empty one if it doesn't exist.
    init(_ record: NamespaceRecord?, in snapshot: Snapshot, limits: RealtimeReadLimits) {
        self.init(
            TreeRows(storage: snapshot.storage, layout: record?.layout ?? TreeLayout(tree: 0)),
            indexes: record?.indexes ?? [], limits: limits, version: snapshot.version, remembering: LastMatches())
    }

    package func content(at path: RealtimePath) throws -> RealtimeContent { try content(at: TreeKey.of(path)) }

    package func leaf(at path: RealtimePath) throws -> RealtimeLeaf? { try stored(at: TreeKey.of(path))?.leaf }

    package func priority(at path: RealtimePath) throws -> RealtimePriority? {
        try stored(at: TreeKey.of(path))?.priority
    }

    /// The leaf at a target; for a priority, its value.
    package func leaf(at target: RealtimeTarget) throws -> RealtimeLeaf? {
        target.isPriority ? try priority(at: target.path)?.leaf : try leaf(at: target.path)
    }

    package func exists(at path: RealtimePath) throws -> Bool { try exists(at: TreeKey.of(path)) }

    package func hasChildren(at path: RealtimePath) throws -> Bool { try hasChildren(at: TreeKey.of(path)) }

    /// The keys of a node's children, in order.
    ///
    /// - Parameter last: the key after which to begin.
    package func childKeys(
        at path: RealtimePath, after last: RealtimeKey? = nil, limit: Int = .max
    ) throws -> [RealtimeKey] {
        var keys: [RealtimeKey] = []
        guard limit > 0 else { return keys }
        let parent = TreeKey.of(path)
        var range = TreeKey.children(of: parent)
        if let last, let next = KeyBytes.successor(ofPrefix: Self.child(last, of: parent)) { range.lower = next }
        try eachChild(of: parent, in: range) { child in
            keys.append(child.key)
            return keys.count < limit
        }
        return keys
    }

    // MARK: Paths as bytes

    func stored(at path: [UInt8]) throws -> StoredNode? {
        try rows.get(path).map { (row) throws(DecodingFailure) in try StoredNode(row, at: path) }
    }

    /// A row as a part of a read.
    func stored(at path: [UInt8], counting bytes: inout ReadBytes) throws -> StoredNode? {
        guard let row = try rows.get(path) else { return nil }
        try bytes.add(path.count + row.count)
        return try StoredNode(row, at: path)
    }

    func content(at path: [UInt8]) throws -> RealtimeContent {
        if let leaf = try stored(at: path)?.leaf { return .leaf(leaf) }
        return try hasChildren(at: path) ? .object : .nothing
    }

    func exists(at path: [UInt8]) throws -> Bool {
        guard let first = try rows.firstPath(in: TreeKey.subtree(path)) else { return false }
        guard first.count > path.count, first[first.startIndex + path.count] == TreeKey.entryMarker else { return true }
        // Entries of an index that is being removed outlive their nodes.
        return try hasChildren(at: path)
    }

    func hasChildren(at path: [UInt8]) throws -> Bool { try rows.firstPath(in: TreeKey.children(of: path)) != nil }

    static func child(_ key: RealtimeKey, of path: [UInt8]) -> [UInt8] {
        var path = path
        TreeKey.append(key, to: &path)
        return path
    }
}

/// Bounds on what one read looks at.
package struct RealtimeReadLimits: Hashable, Sendable {
    /// The children that a query looks at.
    package var maxQueryNodes: Int
    /// The bytes of what is read, and of what a query looks at.
    package var maxBytes: Int

    package init(maxQueryNodes: Int = 1_000_000, maxBytes: Int = RealtimeLimits.maxReadBytes) {
        self.maxQueryNodes = maxQueryNodes
        self.maxBytes = maxBytes
    }
}

/// The bytes that one read has loaded, all its parts together.
struct ReadBytes {
    private let limit: Int
    private(set) var count = 0

    init(_ limits: RealtimeReadLimits) { limit = limits.maxBytes }

    /// For reads that are bounded otherwise.
    init() { limit = .max }

    /// - Throws: `tooLarge`.
    mutating func add(_ bytes: Int) throws(RealtimeFailure) {
        count += bytes
        guard count <= limit else { throw .tooLarge(limit) }
    }
}
