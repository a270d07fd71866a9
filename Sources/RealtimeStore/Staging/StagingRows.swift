import CommitPipeline
package import RealtimeModel
import StorageEngine

/// Stores the rows of a value that is read, some at a time, beside the tree. While some are stored, the next are read.
package struct StagingRows: RealtimeTextReceiver {
    /// What one commit stores, so that other writers don't wait long.
    static let maxRows = 2_000
    private static let maxBytes = 512 * 1024

    private let tree: UInt32
    private let path: RealtimePath
    private let store: RealtimeStore
    private let progress: (Int) throws(RealtimeFailure) -> Void
    private var rows: [(path: [UInt8], row: [UInt8])] = []
    private var bytes = 0
    /// Results of what is being stored.
    private let results = JobQueue<Result<Void, RealtimeFailure>>()
    private var isStoring = false
    /// How many bytes of the text were read, about.
    private(set) var position = 0
    /// How many nodes with a row there were.
    private(set) var count = 0
    /// The value's own priority.
    private(set) var priority: RealtimePriority?

    init(
        _ tree: UInt32, at path: RealtimePath, in store: RealtimeStore,
        _ progress: @escaping (Int) throws(RealtimeFailure) -> Void
    ) {
        self.tree = tree
        self.path = path
        self.store = store
        self.progress = progress
    }

    package mutating func leaf(_ leaf: RealtimeLeaf, priority: RealtimePriority?, at keys: [RealtimeKey]) throws {
        try add(StoredNode(leaf: leaf, priority: priority), at: keys)
    }

    package mutating func priority(_ priority: RealtimePriority, at keys: [RealtimeKey]) throws {
        try add(StoredNode(leaf: nil, priority: priority), at: keys)
    }

    package mutating func advanced(to position: Int) throws {
        self.position = position
        try progress(position)
    }

    private mutating func add(_ node: StoredNode, at keys: [RealtimeKey]) throws {
        count += 1
        let key = TreeKey.of(RealtimePath(unchecked: keys))
        append(key, node.encoded(at: key))
        if let priority = node.priority {
            if keys.count == path.depth {
                self.priority = priority
            } else {
                appendEntry(of: priority, at: keys)
            }
        }
        if rows.count >= Self.maxRows || bytes >= Self.maxBytes { try flush() }
    }

    private mutating func appendEntry(of priority: RealtimePriority, at keys: [RealtimeKey]) {
        let parent = TreeKey.of(RealtimePath(unchecked: Array(keys.dropLast())))
        let prefix = IndexEntryKey.prefix(of: parent, index: IndexEntryKey.priorities)
        append(
            IndexEntryKey.of(RealtimeIndexEntry(value: .leaf(priority.leaf), key: keys[keys.count - 1]), in: prefix), []
        )
    }

    private mutating func append(_ key: [UInt8], _ row: [UInt8]) {
        rows.append((key, row))
        bytes += key.count + row.count
    }

    private mutating func flush() throws(RealtimeFailure) {
        try wait()
        let (rows, header) = (rows, TreeKey.header(ofTree: tree))
        self.rows = []
        bytes = 0
        isStoring = true
        store.change({ _, storage in
            for (path, row) in rows { try storage.put(.tree, header + path, row) }
        }) { [results] in _ = results.put($0) }
    }

    /// Waits until what was given to the store is durable.
    private mutating func wait() throws(RealtimeFailure) {
        guard isStoring else { return }
        isStoring = false
        guard let result = results.take()?.first else { throw RealtimeFailure(from: CommitPipeline.shutDown) }
        try result.get()
    }

    /// Stores the rest, and returns once all is durable.
    mutating func finish() throws(RealtimeFailure) {
        if !rows.isEmpty { try flush() }
        try wait()
    }
}
