import RealtimeModel
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

@testable import RealtimeStore

/// Commits that remove very much, one node at a time.
struct RemovalTests {
    enum Removal: CaseIterable { case ofChildren, ofAllChildren, ofGrandchildren, besideNewOnes, backwards }

    private static let count = 2_000

    private static func key(_ number: Int) -> String { "p" + String(String(1_000_000 + number).dropFirst()) }

    /// What it removes is passed once, and not again for each node above that might have become empty.
    @Test(arguments: Removal.allCases, [false, true]) func eachIsLookedAtOnce(
        removal: Removal, isIndexed: Bool
    ) async throws {
        let engine = CountingEngine(MemoryEngine(), limit: .max)
        let fixture = try RealtimeFixture(on: engine)
        if isIndexed {
            try await fixture.store.configureIndexes(
                [.init(parents: [.key(try RealtimeKey("posts"))], index: .child(try RealtimePath("stars")))],
                in: RealtimeFixture.namespace)
        }
        let size = removal == .ofAllChildren ? Self.count : 2 * Self.count
        let posts = (0..<size).map { number in
            let priority = isIndexed ? #","# + "\".priority\":\(number * 7_919 % 1_000)" : ""
            return "\"\(Self.key(number))\":{\"stars\":\(number * 7_919 % size),\"title\":\"t\"\(priority)}"
        }
        try await fixture.set("posts", "{\(posts.joined(separator: ","))}")
        try await fixture.store.settle()
        var writes = (0..<Self.count).flatMap { number -> [(path: String, json: String)] in
            let post = "posts/" + Self.key(number)
            return switch removal {
            case .ofGrandchildren: [("\(post)/stars", "null"), ("\(post)/title", "null")]
            case .besideNewOnes: [(post, "null"), ("\(post)a", number % 100 == 99 ? "1" : "null")]
            default: [(post, "null")]
            }
        }
        if removal == .backwards { writes.reverse() }
        let changes = try writes.map { write in
            let target = RealtimeTarget(try RealtimePath(write.path))
            return RealtimeWrite.set(target, try RealtimeWriteValue(parsing: Array(write.json.utf8), at: target))
        }
        _ = engine.takeCounts()
        try await fixture.store.commit(RealtimeCommit(changes, in: RealtimeFixture.namespace))
        #expect(engine.takeCounts().read < 30 * writes.count)
        let left = try await fixture.read { try $0.childKeys(at: RealtimePath("posts")).count }
        #expect(left == size - Self.count + (removal == .besideNewOnes ? Self.count / 100 : 0))
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    /// Subtrees that are too large to be looked at, and new nodes behind them.
    @Test func manyLargeSubtreesAreRemovedAtOnce() async throws {
        let engine = CountingEngine(MemoryEngine(), limit: .max)
        var configuration = RealtimeStoreConfiguration()
        configuration.maxComparedRows = 3
        let fixture = try RealtimeFixture(on: engine, configuration: configuration)
        let count = 300
        let room = #"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}"#
        let rooms = (0..<count).map { "\"\(Self.key($0))\":\(room)" }.joined(separator: ",")
        try await fixture.set("rooms", "{\(rooms)}")
        var changes: [RealtimeWrite] = []
        for number in 0..<count {
            let target = RealtimeTarget(try RealtimePath("rooms/" + Self.key(number)))
            changes.append(.set(target, try RealtimeWriteValue(parsing: Array("null".utf8), at: target)))
        }
        for number in 0..<2 * count {
            let target = RealtimeTarget(try RealtimePath("shops/s" + Self.key(number)))
            changes.append(.set(target, try RealtimeWriteValue(parsing: Array("1".utf8), at: target)))
        }
        _ = engine.takeCounts()
        try await fixture.store.commit(RealtimeCommit(changes, in: RealtimeFixture.namespace))
        #expect(engine.takeCounts().read < 60 * changes.count)
        #expect(try await fixture.read { try $0.childKeys(at: RealtimePath("rooms")).count } == 0)
        #expect(try await fixture.read { try $0.childKeys(at: RealtimePath("shops")).count } == 2 * count)
        try await fixture.store.settle()
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    /// Until they are forgotten, each row is looked for among all of them.
    @Test func manyRemovedSubtreesAreForgottenInFewBatches() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.maxComparedRows = 3
        let fixture = try RealtimeFixture(configuration: configuration)
        let count = 300
        let room = #"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}"#
        let rooms = (0..<count).map { "\"\(Self.key($0))\":\(room)" }.joined(separator: ",")
        try await fixture.set("rooms", "{\(rooms)}")
        try await fixture.store.settle()
        // It rises with each batch that changes what waits.
        let before = try await fixture.store.change { kind, _ in kind.generation ?? 0 }
        let nulls = (0..<count).map { "\"\(Self.key($0))\":null" }.joined(separator: ",")
        try await fixture.update("rooms", "{\(nulls)}")
        try await fixture.store.settle()
        let after = try await fixture.store.change { kind, _ in kind.generation ?? 0 }
        #expect(Int(after - before) < count / 2)
        #expect(try await fixture.json() == "null")
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    /// The parts that are seen between hidden ranges, forwards and backwards, beside a simple search.
    @Test func hiddenRangesLeaveTheOthers() throws {
        let changes = RowChanges()
        let hidden: [(UInt8, UInt8)] = [(70, 80), (10, 20), (20, 25), (40, 41), (12, 14), (60, 90)]
        for (lower, upper) in hidden { changes.hide(KeyRange(lower: [lower], upper: [upper])) }
        for lower: UInt8 in stride(from: 0, to: 100, by: 5) {
            for upper: UInt8 in stride(from: lower, through: 100, by: 5) {
                for reverse in [false, true] {
                    let parts = Array(
                        changes.visibleParts(of: KeyRange(lower: [lower], upper: [upper]), reverse: reverse))
                    let seen = parts.flatMap { part in (0...100 as ClosedRange<UInt8>).filter { part.contains([$0]) } }
                    let expected = (lower..<max(lower, upper)).filter { key in
                        !hidden.contains { $0.0 <= key && key < $0.1 }
                    }
                    #expect(seen.sorted() == expected)
                    #expect(seen.count == expected.count)
                    let starts = parts.map { $0.lower[0] }
                    #expect(starts == (reverse ? starts.sorted(by: >) : starts.sorted()))
                }
            }
        }
        for key: UInt8 in 0...100 { #expect(changes.hides([key]) == hidden.contains { $0.0 <= key && key < $0.1 }) }
    }

    /// The first row that is seen at and below nodes, after each of many changes, is that of a scan.
    @Test func theFirstRowIsFoundWhateverChanges() async throws {
        try await FuzzRounds.run("first rows", count: 30) { _, seed in try firstRows(seed: seed) }
    }

    private func firstRows(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let engine = MemoryEngine()
        func path() throws -> [UInt8] {
            let depth = Int.random(in: 0...3, using: &random)
            let keys = (0..<depth).map { _ in ["a", "b", "7", "c"].randomElement(using: &random) ?? "a" }
            return TreeKey.of(try RealtimePath(keys.joined(separator: "/")))
        }
        func row() throws -> [UInt8] {
            let path = try path()
            guard Int.random(in: 0..<4, using: &random) == 0 else { return path }
            let entry = RealtimeIndexEntry(value: .null, key: try RealtimeKey("b"))
            return IndexEntryKey.of(entry, in: IndexEntryKey.prefix(of: path, index: 1))
        }
        let stored = try (0..<100).map { _ in try row() }
        try engine.write { storage in
            for path in stored { try storage.put(.tree, TreeKey.stored(path, inTree: 1), [1]) }
        }
        try engine.makeReadSession().read { storage in
            let changes = RowChanges()
            let rows = TreeRows(storage: storage, layout: TreeLayout(tree: 1), changes: changes)
            for _ in 0..<400 {
                let changed = try row()
                let exists = try rows.get(changed) != nil
                switch Int.random(in: 0..<20, using: &random) {
                case 0: changes.hide(TreeKey.subtree(changed))
                case 1..<6: changes.put(changed, [2], isStructural: !exists)
                default: if exists { changes.delete(changed) }
                }
                for _ in 0..<3 {
                    let path = try path()
                    for range in [TreeKey.subtree(path), TreeKey.children(of: path)] {
                        var first: ArraySlice<UInt8>?
                        try rows.scanPaths(range) { path in
                            first = path
                            return false
                        }
                        #expect(try rows.firstPath(in: range) == first, "seed \(seed)")
                    }
                }
            }
        }
    }
}
