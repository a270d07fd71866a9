import RealtimeHashing
package import RealtimeModel
import Sharing
import StorageEngine
import Synchronization

/// Small nodes that were read more than once lately, as they are in the last durable state.
///
/// What passes between threads for the read of a leaf costs more than the leaf. A node leaves the cache before its change
/// becomes durable, and returns with the change afterwards: otherwise a caller that has seen the new state elsewhere
/// could be given the old one.
package final class NodeCache: Sendable {
    /// A node, nil for nothing, and the version of a state that has it.
    package struct Known: Sendable {
        package var node: RealtimeNode?
        package var version: Int64

        /// As of `RealtimeSnapshot`.
        package var exactHash: String { node.exactHash }

        package func json(as form: RealtimeForm) -> [UInt8] { node?.json(as: form) ?? Array("null".utf8) }
    }

    /// A place for what a read will find, made before the read's state is chosen.
    package struct Place: Sendable {
        fileprivate let key: Key
        /// All changes up to this one are in the state.
        fileprivate let durable: UInt64
    }

    fileprivate struct Key: Equatable, Sendable {
        let namespace: String
        let path: RealtimePath
        let hash: UInt64
        let bytes: Int

        init(_ namespace: String, _ path: RealtimePath) {
            self.namespace = namespace
            self.path = path
            let path = TreeKey.of(path)
            var hash = PathHash(of: namespace)
            hash.add(path[...])
            self.hash = hash.value
            bytes = namespace.utf8.count + 4 * path.count
        }
    }

    /// What is larger isn't kept. The writer changes what is kept, and looks at all of it.
    static let maxLeaves = 16
    static let maxNodeBytes = 4_096
    /// As rows, which have their paths, it may be larger.
    private static let maxReadBytes = 16 * 1_024

    private let state: Mutex<State>
    /// Whether something was ever looked for. If not, nothing is known, and no change has to be looked at. A place that is
    /// made while a change isn't looked at takes nothing.
    private let isUsed = Atomic(false)

    /// - Parameter maxBytes: what all nodes may take in memory, about.
    init(version: Int64, maxBytes: Int) { state = Mutex(State(version: version, maxBytes: maxBytes)) }

    /// About the memory that the nodes take.
    var bytes: Int { state.withLock { $0.known.bytes } }

    // MARK: Reads

    /// What is at a path, in a state at least as new as the call.
    ///
    /// - Returns: what is known, or else where to add what a read finds, if it is worth it.
    package func find(_ path: RealtimePath, in namespace: String) -> (known: Known?, place: Place?) {
        let key = Key(namespace, path)
        if !isUsed.load(ordering: .relaxed) { isUsed.store(true, ordering: .relaxed) }
        // What is evicted is freed without the lock, here and below.
        let (known, place, _) = state.withLock { state -> (Known?, Place?, any Sendable) in
            if let node = state.find(key) {
                return (Known(node: node, version: state.version), nil, state.known.takeEvicted())
            }
            return (nil, state.missed.insert(key.hash) ? nil : Place(key: key, durable: state.durable), ())
        }
        return (known, place)
    }

    /// Adds what a read has found in a state, unless it is too large.
    ///
    /// - Parameters:
    ///   - rows: how many nodes with a row it has found.
    ///   - bytes: the size of its JSON.
    package func add(from state: RealtimeSnapshot, rows: Int, bytes: Int, at place: Place) throws {
        guard rows <= Self.maxLeaves, bytes <= Self.maxNodeBytes else { return }
        add(try state.node(at: place.key.path), at: place)
    }

    /// Adds what is at the place in a state, unless it is too large.
    func add(from state: RealtimeSnapshot, at place: Place) {
        do {
            guard let found = try state.node(at: place.key.path, maxRows: Self.maxLeaves, maxBytes: Self.maxReadBytes)
            else { return }
            add(found, at: place)
        } catch {
            // The next read tells what is wrong.
        }
    }

    /// Adds what a read has found, unless it may have changed since its place was made.
    package func add(_ node: RealtimeNode?, at place: Place) {
        guard let bytes = Self.size(of: node, at: place.key) else { return }
        _ = state.withLock { state in
            state.add(node, bytes: bytes, at: place)
            return state.known.takeEvicted()
        }
    }

    /// - Returns: nil if it is too large.
    fileprivate static func size(of node: RealtimeNode?, at key: Key) -> Int? {
        var size = NodeSize(bytes: key.bytes)
        return size.add(node) ? size.bytes : nil
    }

    // MARK: Commits

    /// Called before a commit becomes durable.
    func willChange(_ rows: RowChanges, _ changes: [RealtimeAppliedChange], in namespace: String) {
        guard isUsed.load(ordering: .relaxed), rows.count <= Self.maxRows, rows.hidden.isEmpty,
            rows.adopted == nil
        else {
            _ = state.withLock { $0.changeAll() }
            return
        }
        var hashes: [UInt64] = []
        for row in rows.all {
            var hash = PathHash(of: namespace)
            hashes.append(hash.value)
            var rest = row.path[...]
            while let end = TreeKey.endOfKey(rest) {
                hash.add(rest[..<end])
                rest = rest[end...]
                hashes.append(hash.value)
            }
        }
        // Rows have much of their paths in common.
        if rows.count > 1 { hashes = Array(Set(hashes)) }
        // What is known isn't changed by merged changes, nor by many: it is read again.
        let isReplayed = changes.count <= Self.maxReplayed && changes.allSatisfy { !$0.isMerged }
        state.withLock { $0.willChange(hashes, isReplayed ? changes : nil, in: namespace) }
    }

    /// Commits with more rows aren't looked at.
    private static let maxRows = 1_000
    private static let maxReplayed = 4

    /// Called once the commits are durable.
    func committed(_ version: Int64?) {
        _ = state.withLock { state in
            state.committed(version)
            return state.known.takeEvicted()
        }
    }

    /// Called when none of the commits was kept.
    func rolledBack() { state.withLock { $0.rolledBack() } }

    func close() { _ = state.withLock { $0.close() } }
}

private struct Entry: Sendable {
    var key: NodeCache.Key
    var node: RealtimeNode?

    mutating func apply(_ changes: [RealtimeAppliedChange]) {
        for change in changes.lazy.map(\.change) {
            if let target = change.target.relative(to: key.path) {
                node.set(change.node, at: target)
            } else if !change.target.isPriority, let path = key.path.relative(to: change.target.path) {
                node = change.node?[path]
            }
        }
    }
}

/// What is known, without a lock.
private struct State {
    /// The version of the last durable commit.
    private(set) var version: Int64
    var known: RecentMap<UInt64, Entry>
    /// What was looked for in vain.
    var missed = RecentHashes()
    /// The entries that the open batch changes, as it leaves them.
    private var changing: [UInt64: Entry] = [:]
    /// How many commits there were, and how many of them are durable.
    private var count: UInt64 = 1
    private(set) var durable: UInt64 = 1
    /// The last commit that has changed something at or below a path, by the hash of the path. Others may have the same
    /// place.
    private var lastChanges = [UInt64](repeating: 0, count: Self.places)
    /// The last commit that may have changed anything.
    private var lastOfAll: UInt64 = 0
    private let maxBytes: Int

    private static let places = 8_192

    init(version: Int64, maxBytes: Int) {
        self.version = version
        self.maxBytes = maxBytes
        known = RecentMap(maxBytes: maxBytes)
    }

    mutating func find(_ key: NodeCache.Key) -> RealtimeNode?? {
        guard let entry = known.use(key.hash), entry.key == key else { return nil }
        return .some(entry.node)
    }

    mutating func add(_ node: RealtimeNode?, bytes: Int, at place: NodeCache.Place) {
        let last = max(lastOfAll, lastChanges[Self.place(of: place.key.hash)])
        guard last <= place.durable else { return }
        known.set(Entry(key: place.key, node: node), bytes: bytes, for: place.key.hash)
    }

    private static func place(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (places - 1) }

    /// Something changes at or below the paths of some hashes.
    ///
    /// - Parameter changes: nil if what is known of them is to be read again.
    mutating func willChange(_ hashes: [UInt64], _ changes: [RealtimeAppliedChange]?, in namespace: String) {
        count += 1
        for hash in hashes {
            lastChanges[Self.place(of: hash)] = count
            let taken = known.take(hash)
            // Another path may have the same hash.
            guard var entry = changing.removeValue(forKey: hash) ?? taken, let changes, entry.key.namespace == namespace
            else { continue }
            entry.apply(changes)
            changing[hash] = entry
        }
    }

    /// Anything may change.
    ///
    /// - Returns: what is to be freed.
    mutating func changeAll() -> any Sendable {
        count += 1
        lastOfAll = count
        guard known.bytes > 0 || !changing.isEmpty else { return () }
        defer {
            known = RecentMap(maxBytes: maxBytes)
            changing = [:]
        }
        return (known, changing)
    }

    mutating func committed(_ version: Int64?) {
        durable = count
        if let version { self.version = version }
        guard !changing.isEmpty else { return }
        for (hash, entry) in changing {
            if let bytes = NodeCache.size(of: entry.node, at: entry.key) { known.set(entry, bytes: bytes, for: hash) }
        }
        changing = [:]
    }

    mutating func rolledBack() {
        durable = count
        changing = [:]
    }

    /// - Returns: what is to be freed.
    mutating func close() -> any Sendable {
        defer { lastOfAll = .max }
        return changeAll()
    }
}

/// How much memory a node takes, up to the limits.
private struct NodeSize {
    var bytes: Int
    private var leaves = 0

    /// - Parameter bytes: of what stands for the node.
    init(bytes: Int) { self.bytes = 256 + bytes }

    /// - Returns: false if it is too large.
    mutating func add(_ node: RealtimeNode?) -> Bool {
        guard let node else { return bytes <= NodeCache.maxNodeBytes }
        bytes += 32
        if let priority = node.priority { add(priority.leaf) }
        if let leaf = node.leaf {
            leaves += 1
            add(leaf)
        } else {
            for child in node.children {
                bytes += 64 + child.key.string.utf8.count
                guard add(child.node) else { return false }
            }
        }
        return leaves <= NodeCache.maxLeaves && bytes <= NodeCache.maxNodeBytes
    }

    private mutating func add(_ leaf: RealtimeLeaf) {
        if case .string(let text) = leaf { bytes += text.utf8.count }
    }
}

/// A hash of a namespace and a path, made key by key.
private struct PathHash {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    init(of namespace: String) { for byte in namespace.utf8 { add(byte) } }

    mutating func add(_ bytes: ArraySlice<UInt8>) { for byte in bytes { add(byte) } }

    private mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
}
