import DocumentModel
import RealtimeHashing
import RealtimeModel
import RealtimeStore
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

/// Costs follow what is touched: the rows that operations read and change, among 100,000 siblings.
struct CostTests {
    private static let count = 100_000

    /// Children `/posts/pN` with a title, a number and a priority.
    private func fixture(priorities: Bool = false) async throws -> (RealtimeFixture, CountingEngine) {
        let engine = CountingEngine(MemoryEngine(), limit: .max)
        let fixture = try RealtimeFixture(on: engine)
        var children: [RealtimeChildren.Child] = []
        for number in 0..<Self.count {
            let text = String(number)
            let key = RealtimeKey(unchecked: "p" + String(repeating: "0", count: 6 - text.utf8.count) + text)
            var node: RealtimeNode?
            node.set(RealtimeNode(.string("title")), at: try RealtimePath("title"))
            node.set(RealtimeNode(.number(RealtimeNumber(Int64(number % 1_000)))), at: try RealtimePath("stars"))
            if priorities { node?.priority = .number(RealtimeNumber(Int64(number % 10))) }
            if let node { children.append((key, node)) }
        }
        let posts = RealtimeNode(RealtimeChildren(sorted: children))
        try await fixture.commit(.set(RealtimeTarget(try RealtimePath("posts")), RealtimeWriteValue(posts)))
        _ = try await fixture.read { try $0.exists(at: .root) }
        _ = engine.takeCounts()
        return (fixture, engine)
    }

    private func rows<Result: Sendable>(
        _ fixture: RealtimeFixture, _ engine: CountingEngine,
        _ body: @escaping @Sendable (RealtimeSnapshot) throws -> Result
    ) async throws -> (Result, rows: Int) {
        _ = engine.takeCounts()
        let result = try await fixture.read(body)
        return (result, engine.takeCounts().read)
    }

    @Test func readsCostWhatTheyCover() async throws {
        let (fixture, engine) = try await fixture()
        let leaf = try RealtimePath("posts/p050000/stars")
        let (value, leafRows) = try await rows(fixture, engine) { try $0.leaf(at: leaf) }
        #expect(value == 0)
        #expect(leafRows <= 2)
        let post = try RealtimePath("posts/p050000")
        let (_, hashRows) = try await rows(fixture, engine) { try $0.hash(at: post) }
        #expect(hashRows <= 4)
        let (keys, pageRows) = try await rows(fixture, engine) {
            try $0.childKeys(at: RealtimePath("posts"), after: RealtimeKey("p050000"), limit: 10)
        }
        #expect(keys.first?.string == "p050001")
        #expect(pageRows <= 22)
        let (_, contentRows) = try await rows(fixture, engine) { try $0.content(at: RealtimePath("posts")) }
        #expect(contentRows <= 4)
        try await fixture.close()
    }

    @Test func shallowReadsSkipWhatIsBelow() async throws {
        let engine = CountingEngine(MemoryEngine(), limit: .max)
        let fixture = try RealtimeFixture(on: engine)
        for room in 0..<20 {
            let messages = (0..<1_000).map { (RealtimeKey(unchecked: "m\(10_000 + $0)"), RealtimeNode(true)) }
            let target = RealtimeTarget(try RealtimePath("rooms/r\(room)"))
            try await fixture.commit(.set(target, RealtimeWriteValue(RealtimeNode(RealtimeChildren(sorted: messages)))))
        }
        let (text, rows) = try await rows(fixture, engine) { state in
            var text: [UInt8] = []
            try state.writeShallowJSON(at: RealtimePath("rooms")) { text += $0 }
            return String(decoding: text, as: UTF8.self)
        }
        #expect(text.hasPrefix(#"{"r0":true,"r1":true,"r10":true"#))
        #expect(rows <= 20 * 6 + 3)
        try await fixture.close()
    }

    @Test func queriesCostWhatTheyReturn() async throws {
        let (fixture, engine) = try await fixture(priorities: true)
        let stars = try RealtimePath("stars")
        try await fixture.store.configureIndexes(
            [.init(parents: [.key(try RealtimeKey("posts"))], index: .child(stars))], in: RealtimeFixture.namespace)
        try await fixture.store.settle()
        _ = try await fixture.read { try $0.exists(at: .root) }
        let queries: [RealtimeQuery] = [
            RealtimeQuery(index: .key, limit: .first(10)),
            RealtimeQuery(
                index: .key, start: .init(value: nil, key: .key(try RealtimeKey("p070000")), isInclusive: false),
                limit: .first(10)),
            RealtimeQuery(index: .priority, limit: .last(10)),
            RealtimeQuery(
                index: .priority, start: .init(value: 5, key: .minimum, isInclusive: true), limit: .first(10)),
            RealtimeQuery(index: .child(stars), limit: .last(10)),
            RealtimeQuery(
                index: .child(stars), start: .init(value: 500, key: .minimum, isInclusive: true), limit: .first(10)),
        ]
        for query in queries {
            let (matches, rows) = try await rows(fixture, engine) {
                try $0.matches(of: query, at: RealtimePath("posts"))
            }
            #expect(matches.entries.count == 10)
            #expect(matches.isIndexed)
            #expect(rows <= 35, "\(query)")
        }
        let all = RealtimeQuery(index: .child(try RealtimePath("title")), limit: .first(10))
        let unindexed = try await fixture.read { try $0.matches(of: all, at: RealtimePath("posts")) }
        #expect(!unindexed.isIndexed)
        #expect(unindexed.entries.count == 10)
        try await fixture.close()
    }

    /// Of a child whose first key can't be an array's, nothing is looked up beside its rows.
    @Test func jsonCostsTheRowsItShows() async throws {
        let (fixture, engine) = try await fixture()
        let query = RealtimeQuery(index: .key, limit: .first(10))
        let (text, rows) = try await rows(fixture, engine) { state in
            var text: [UInt8] = []
            try state.writeJSON(at: RealtimePath("posts"), matching: query, as: .plain) { text += $0 }
            return String(decoding: text, as: UTF8.self)
        }
        #expect(text.hasPrefix(#"{"p000000":{"stars":0,"title":"title"},"p000001":"#))
        let matched = 20
        #expect(rows <= matched + 10 * 2 + 2)
        try await fixture.close()
    }

    @Test func writesChangeWhatDiffers() async throws {
        let (fixture, engine) = try await fixture()
        func counts(_ body: () async throws -> Void) async throws -> (read: Int, changed: Int) {
            _ = engine.takeCounts()
            try await body()
            return engine.takeCounts()
        }
        // One row, and that of the version.
        var costs = try await counts { try await fixture.set("posts/p050000/stars", "1000") }
        #expect(costs.changed <= 2)
        #expect(costs.read <= 12)
        costs = try await counts { try await fixture.set("posts/new", #"{"title":"a","stars":1}"#) }
        #expect(costs.changed <= 3)
        #expect(costs.read <= 12)
        costs = try await counts { try await fixture.set("posts/new", #"{"title":"a","stars":2}"#) }
        #expect(costs.changed <= 2)
        #expect(costs.read <= 14)
        costs = try await counts { try await fixture.set("posts/new", "null") }
        #expect(costs.changed <= 3)
        try await fixture.close()
    }

    @Test func deletingALargeSubtreeIsASmallCommit() async throws {
        let engine = CountingEngine(MemoryEngine(), limit: .max)
        var configuration = RealtimeStoreConfiguration()
        (configuration.maxSweptRows, configuration.maxIdleSweptRows) = (256, 1_000)
        let fixture = try RealtimeFixture(on: engine, configuration: configuration)
        let children = (0..<Self.count).map { (RealtimeKey(unchecked: "c\(1_000_000 + $0)"), RealtimeNode(true)) }
        let target = RealtimeTarget(try RealtimePath("a/big"))
        try await fixture.commit(.set(target, RealtimeWriteValue(RealtimeNode(RealtimeChildren(sorted: children)))))
        try await fixture.set("a/other", "1")
        try await fixture.store.settle()
        _ = engine.takeLargestWrite()
        let committed = try await fixture.commit(.set(target, RealtimeWriteValue(nil)))
        #expect(committed.changes.count == 1)
        // Neither the commit nor a batch of background work since has looked at all rows.
        #expect(engine.takeLargestWrite() < 2 * 2_000 + 1_100)
        #expect(try await fixture.json("a") == #"{"other":1}"#)
        try await fixture.set("a/big/c1", "2")
        #expect(try await fixture.json("a") == #"{"big":{"c1":2},"other":1}"#)
        try await fixture.store.settle()
        #expect(try await fixture.json("a") == #"{"big":{"c1":2},"other":1}"#)
        let left = try fixture.engine.makeReadSession().read { try $0.count(.tree, KeyRange(prefix: [1])) }
        #expect(left == 2)
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    /// Long values aren't all held to be deleted, nor to be replaced by short ones.
    @Test(arguments: ["null", #"{"a":true}"#]) func aSubtreeOfLongValuesIsReplacedWithoutThem(json: String) async throws
    {
        let engine = CountingEngine(MemoryEngine(), limit: .max)
        let fixture = try RealtimeFixture(on: engine)
        let target = RealtimeTarget(try RealtimePath("files"))
        try await fixture.commit(.set(target, RealtimeWriteValue(Self.files(200))))
        let checked = try RealtimeCommit(
            [.set(target, RealtimeWriteValue(parsing: Array(json.utf8), at: target))], in: RealtimeFixture.namespace
        ) { _, _, _, _ in }
        _ = (engine.takeValueBytes(), engine.takeLargestWriteBytes())
        try await fixture.store.commit(checked)
        #expect(engine.takeLargestWriteBytes() < 2 * 1024 * 1024)
        #expect(engine.takeValueBytes() < 4 * 1024 * 1024)
        #expect(try await fixture.json("files") == json)
        try await fixture.store.settle()
        #expect(try await fixture.json("files") == json)
        #expect(try fixture.problems() == [])
        // As many bytes are compared, so that only what differs is written and pushed.
        try await fixture.commit(.set(target, RealtimeWriteValue(Self.files(100))))
        var changed = Self.files(100)
        changed.set(RealtimeNode(true), at: try RealtimePath("f7"))
        let view = await ListenerView(fixture.store, try RealtimePath("files/f8"))
        _ = engine.takeCounts()
        try await fixture.commit(.set(target, RealtimeWriteValue(changed)))
        #expect(engine.takeCounts().changed <= 2)
        #expect(view.takePushes().isEmpty)
        try await fixture.close()
    }

    @Test func longValuesAreMovedAFewAtATime() async throws {
        let engine = CountingEngine(MemoryEngine(), limit: .max)
        var configuration = RealtimeStoreConfiguration()
        configuration.maxComparedRows = 100
        let fixture = try RealtimeFixture(on: engine, configuration: configuration)
        let target = RealtimeTarget(try RealtimePath("files"))
        let many = (0..<500).map { (RealtimeKey(unchecked: "c\(1_000 + $0)"), RealtimeNode(true)) }
        try await fixture.commit(.set(target, RealtimeWriteValue(RealtimeNode(RealtimeChildren(sorted: many)))))
        // Gets a tree of its own, which is small enough to be moved back.
        try await fixture.commit(.set(target, RealtimeWriteValue(Self.files(100))))
        try await fixture.store.settle()
        #expect(engine.takeLargestWriteBytes() < 2 * 1024 * 1024)
        let trees = try fixture.engine.makeReadSession().read { storage in
            var trees: Set<[UInt8]> = []
            try storage.scanKeys(.tree, KeyRange(prefix: [1]), reverse: false) { key in
                trees.insert(Array(key.prefix(5)))
                return true
            }
            return trees
        }
        #expect(trees.count == 1)
        #expect(try await fixture.read { try $0.node(at: RealtimePath("files")) } == Self.files(100))
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    /// Children `fN` with strings of 64 KiB.
    private static func files(_ count: Int) -> RealtimeNode? {
        let children = (0..<count).map { number in
            let text = String(repeating: String(number % 10), count: 65_536)
            return (RealtimeKey(unchecked: "f\(number)"), RealtimeNode(.string(text), priority: nil))
        }
        return RealtimeNode(RealtimeChildren(sorted: children.sorted { $0.0 < $1.0 }))
    }

    /// As an app whose users each listen to their own posts.
    @Test(.endsHangs) func manyQueriesOfOnePathReadAChangeOnce() async throws {
        let engine = CountingEngine(MemoryEngine(), limit: .max)
        let fixture = try RealtimeFixture(on: engine)
        let user = try RealtimePath("user")
        try await fixture.store.configureIndexes(
            [.init(parents: [.key(try RealtimeKey("posts"))], index: .child(user))], in: RealtimeFixture.namespace)
        try await fixture.store.settle()
        var views: [ListenerView] = []
        for number in 0..<500 as Range<Int64> {
            let bound = { RealtimeQuery.Bound(value: .number(RealtimeNumber(number)), key: $0, isInclusive: true) }
            let query = RealtimeQuery(index: .child(user), start: bound(.minimum), end: bound(.maximum))
            views.append(await ListenerView(fixture.store, try RealtimePath("posts"), query))
        }
        _ = engine.takeCounts()
        try await fixture.set("posts/p", #"{"user":7,"text":"hello"}"#)
        #expect(engine.takeCounts().read < 40)
        #expect(views.map { $0.takePushes().count }.reduce(0, +) == 1)
        #expect(views[7].node != nil)
        try await fixture.close()
    }
}
