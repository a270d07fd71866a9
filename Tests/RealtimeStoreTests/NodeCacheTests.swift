import RealtimeModel
import StorageEngine
import Testing

@testable import RealtimeStore

/// Nodes that are known without reading.
struct NodeCacheTests {
    private static let namespace = "n"

    private func path(_ text: String) throws -> RealtimePath { try RealtimePath(text) }

    /// Looks for a node twice, and adds it as what a read has found.
    private func add(_ node: RealtimeNode?, at text: String, to cache: NodeCache) throws {
        for _ in 0..<2 where cache.find(try path(text), in: Self.namespace).known == nil {
            if let place = cache.find(try path(text), in: Self.namespace).place { cache.add(node, at: place) }
        }
    }

    private func known(_ text: String, in cache: NodeCache, _ namespace: String = namespace) throws -> RealtimeNode?? {
        cache.find(try path(text), in: namespace).known.map(\.node)
    }

    /// What a set of one place changes.
    private func set(
        _ text: String, _ node: RealtimeNode?, in cache: NodeCache, namespace: String = namespace,
        extent: RealtimeAppliedChange.Extent? = nil
    ) throws {
        let (rows, path) = (RowChanges(), try path(text))
        rows.put(TreeKey.of(path), [1], isStructural: false)
        let change = RealtimeChange(RealtimeTarget(path), node)
        cache.willChange(
            rows, [RealtimeAppliedChange(change: change, extent: extent ?? .rows([TreeKey.of(path)]))], in: namespace)
    }

    @Test func whatIsLookedForTwiceIsKeptUntilItChanges() throws {
        let cache = NodeCache(version: 1, maxBytes: 1 << 20)
        #expect(cache.find(try path("a/b"), in: Self.namespace).place == nil)
        let place = try #require(cache.find(try path("a/b"), in: Self.namespace).place)
        cache.add(RealtimeNode(1), at: place)
        #expect(try known("a/b", in: cache) == .some(RealtimeNode(1)))
        #expect(try known("a/b", in: cache, "other") == nil)
        #expect(cache.find(try path("a/b"), in: Self.namespace).known?.version == 1)
        try add(nil, at: "a/c", to: cache)
        #expect(try known("a/c", in: cache) == .some(nil))
        // Two commits of one batch.
        try set("a/b", RealtimeNode(2), in: cache)
        #expect(try known("a/b", in: cache) == nil)
        try set("a/b", RealtimeNode(3), in: cache)
        cache.committed(2)
        #expect(try known("a/b", in: cache) == .some(RealtimeNode(3)))
        #expect(try known("a/c", in: cache) == .some(nil))
        #expect(cache.find(try path("a/b"), in: Self.namespace).known?.version == 2)
        try set("a/b", RealtimeNode(4), in: cache)
        cache.rolledBack()
        #expect(try known("a/b", in: cache) == nil)
        try add(RealtimeNode(3), at: "a/b", to: cache)
        #expect(try known("a/b", in: cache) == .some(RealtimeNode(3)))
        cache.close()
        try add(RealtimeNode(3), at: "a/b", to: cache)
        #expect(try known("a/b", in: cache) == nil)
    }

    @Test func whatIsAboveAndBelowChangesToo() throws {
        let cache = NodeCache(version: 1, maxBytes: 1 << 20)
        func object(_ key: String, _ node: RealtimeNode) -> RealtimeNode? {
            RealtimeNode(RealtimeChildren(sorted: [(RealtimeKey(unchecked: key), node)]))
        }
        try add(object("b", RealtimeNode(1)), at: "a", to: cache)
        try add(RealtimeNode(1), at: "a/b", to: cache)
        try add(RealtimeNode(7), at: "x", to: cache)
        try set("a/b", RealtimeNode(2), in: cache)
        cache.committed(2)
        #expect(try known("a", in: cache) == .some(object("b", RealtimeNode(2))))
        #expect(try known("a/b", in: cache) == .some(RealtimeNode(2)))
        #expect(try known("x", in: cache) == .some(RealtimeNode(7)))
        // The rows say that something below has changed.
        let (rows, place) = (RowChanges(), try path("a"))
        rows.put(TreeKey.of(place), [1], isStructural: true)
        rows.delete(TreeKey.of(try path("a/b")))
        let change = RealtimeChange(RealtimeTarget(place), RealtimeNode(5))
        cache.willChange(rows, [RealtimeAppliedChange(change: change, extent: .rows([]))], in: Self.namespace)
        cache.committed(3)
        #expect(try known("a", in: cache) == .some(RealtimeNode(5)))
        #expect(try known("a/b", in: cache) == .some(nil))
        // The same place of another database.
        try set("x", RealtimeNode(8), in: cache, namespace: "other")
        cache.committed(4)
        #expect(try known("x", in: cache) == .some(RealtimeNode(7)))
    }

    @Test func whatAReadHasFoundBeforeAChangeIsNotAdded() throws {
        let cache = NodeCache(version: 1, maxBytes: 1 << 20)
        _ = cache.find(try path("a"), in: Self.namespace)
        let early = try #require(cache.find(try path("a"), in: Self.namespace).place)
        try set("a/b", RealtimeNode(1), in: cache)
        // The change isn't durable when this read begins.
        let middle = try #require(cache.find(try path("a"), in: Self.namespace).place)
        cache.add(nil, at: early)
        cache.add(nil, at: middle)
        #expect(try known("a", in: cache) == nil)
        cache.committed(2)
        cache.add(nil, at: early)
        cache.add(nil, at: middle)
        let late = try #require(cache.find(try path("a"), in: Self.namespace).place)
        cache.add(RealtimeNode(9), at: late)
        #expect(try known("a", in: cache) == .some(RealtimeNode(9)))
    }

    @Test func largeAndMergedChangesAreReadAgain() throws {
        let cache = NodeCache(version: 1, maxBytes: 1 << 20)
        try add(RealtimeNode(1), at: "a", to: cache)
        try set("a", RealtimeNode(2), in: cache, extent: .any)
        cache.committed(2)
        #expect(try known("a", in: cache) == nil)
        for hides in [true, false] {
            try add(RealtimeNode(1), at: "a", to: cache)
            #expect(try known("a", in: cache) == .some(RealtimeNode(1)))
            let rows = RowChanges()
            if hides { rows.hide(KeyRange(prefix: TreeKey.of(try path("z")))) }
            for n in 0..<(hides ? 1 : 2_000) { rows.put(TreeKey.of(try path("z/\(n)")), [1], isStructural: true) }
            let place = cache.find(try path("b"), in: Self.namespace).place
            cache.willChange(rows, [], in: Self.namespace)
            if let place { cache.add(RealtimeNode(1), at: place) }
            cache.committed(3)
            #expect(try known("a", in: cache) == nil)
            #expect(try known("b", in: cache) == nil)
        }
    }

    @Test func memoryIsBounded() throws {
        let cache = NodeCache(version: 1, maxBytes: 100_000)
        let long = String(repeating: "k", count: 700)
        for n in 0..<400 {
            try add(nil, at: "\(long)/\(n)", to: cache)
            #expect(cache.bytes <= 100_000)
        }
        // Fewer than 30 have a place.
        #expect(try (0..<400).count { try known("\(long)/\($0)", in: cache) != nil } < 30)
        let text = RealtimeLeaf.string(String(repeating: "x", count: 5_000))
        for node in [RealtimeNode(text), RealtimeNode(1, priority: RealtimePriority(text))] {
            try add(node, at: "large", to: cache)
            #expect(try known("large", in: cache) == nil)
        }
        // What becomes large leaves.
        try add(RealtimeNode(1), at: "grows", to: cache)
        try set("grows", RealtimeNode(text), in: cache)
        cache.committed(2)
        #expect(try known("grows", in: cache) == nil)
    }
}
