import CommitPipeline
package import RealtimeModel
import StorageEngine

/// Stores the rows of a value that is read, some at a time, beside the tree. While some are stored, the next are read.
package struct StagingRows: RealtimeTextReceiver {
    /// What one commit stores, so that other writers don't wait long.
    static let maxRows = 2_000
    private static let maxBytes = 256 * 1024
    /// Of commits that aren't durable yet: one is made while the other is synced.
    private static let maxCommits = 2

    private let header: [UInt8]
    private let hold: StagedHold
    private let path: RealtimePath
    private let store: RealtimeStore
    private let progress: (Int) throws(RealtimeFailure) -> Void
    private var rows = RowBlock()
    /// Results of what is being stored.
    private let results = JobQueue<Result<Void, RealtimeFailure>>()
    private var commits = 0
    /// How many bytes of the text were read, about.
    private(set) var position = 0
    /// How many nodes with a row there were.
    private(set) var count = 0
    /// The value's own priority.
    private(set) var priority: RealtimePriority?

    init(
        _ tree: UInt32, _ hold: StagedHold, at path: RealtimePath, in store: RealtimeStore,
        _ progress: @escaping (Int) throws(RealtimeFailure) -> Void
    ) {
        header = TreeKey.header(ofTree: tree)
        self.hold = hold
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
        rows.append(header, key, node.encoded(at: key))
        if let priority = node.priority {
            if keys.count == path.depth {
                self.priority = priority
            } else {
                appendEntry(of: priority, at: keys)
            }
        }
        if rows.count >= Self.maxRows || rows.byteCount >= Self.maxBytes { try flush() }
    }

    private mutating func appendEntry(of priority: RealtimePriority, at keys: [RealtimeKey]) {
        let parent = TreeKey.of(RealtimePath(unchecked: Array(keys.dropLast())))
        let prefix = IndexEntryKey.prefix(of: parent, index: IndexEntryKey.priorities)
        let entry = RealtimeIndexEntry(value: .leaf(priority.leaf), key: keys[keys.count - 1])
        rows.append(header, IndexEntryKey.of(entry, in: prefix), [])
    }

    private mutating func flush() throws(RealtimeFailure) {
        try wait(until: Self.maxCommits - 1)
        let (rows, hold) = (rows, hold)
        self.rows = RowBlock()
        commits += 1
        store.change({ _, storage in
            // The tree's rows may be removed by then.
            if !hold.isReleased { try storage.put(.tree, rows) }
        }) { [results] in _ = results.put($0) }
    }

    /// Waits until no more commits than these aren't durable.
    private mutating func wait(until left: Int) throws(RealtimeFailure) {
        while commits > left {
            guard let taken = results.take() else { throw RealtimeFailure(from: CommitPipeline.shutDown) }
            commits -= taken.count
            for result in taken { try result.get() }
        }
    }

    /// Stores the rest, and returns once all is durable.
    mutating func finish() throws(RealtimeFailure) {
        if !rows.isEmpty { try flush() }
        try wait(until: 0)
    }
}
