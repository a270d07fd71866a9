import CommitPipeline
import DocumentModel
import RealtimeHashing
import RealtimeModel
import RealtimeStore
import RealtimeTesting
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

/// The store beside a tree in memory.
struct RealtimeModelTests {
    private static let steps = 60

    @Test(.endsHangs, arguments: EngineKind.allCases)
    func everythingIsAsInTheTreeInMemory(kind: EngineKind) async throws {
        try await FuzzRounds.run("the tree on \(kind)", count: kind == .memory ? 40 : 10) { _, seed in
            try await run(kind, seed: seed, RealtimeStoreConfiguration())
        }
    }

    @Test(.endsHangs, arguments: EngineKind.allCases)
    func subtreesThatAreReplacedWithoutLookingAreAsInTheTreeInMemory(kind: EngineKind) async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.maxComparedRows = 3
        configuration.maxSweptRows = 2
        configuration.maxIdleSweptRows = 2
        configuration.maxExtents = 3
        configuration.shortLimits = RealtimeReadLimits(maxQueryNodes: 2, maxBytes: 40)
        try await FuzzRounds.run("layouts on \(kind)", count: kind == .memory ? 40 : 10) { _, seed in
            try await run(kind, seed: seed, configuration)
        }
    }

    private func run(_ kind: EngineKind, seed: UInt64, _ configuration: RealtimeStoreConfiguration) async throws {
        let place: Comment = "seed \(seed)"
        var random = RandomTree(generator: SeededGenerator(seed: seed))
        var tree = RealtimeTree()
        let fixture = try RealtimeFixture(kind, configuration: configuration)
        for step in 1...Self.steps {
            let write = try random.write(in: tree)
            fixture.clock.advance(by: .milliseconds(2))
            let old = tree
            let stored = random.generator.once(in: 4) ? try await fixture.staged(write, &random) : write
            do {
                let committed = try await commit(
                    write, as: stored, fixture, tree, &random, "\(place), step \(step)")
                let applied = tree.apply(write, now: fixture.clock.timestamp().microseconds / 1_000)
                #expect(applied != nil, "\(place), step \(step): the hash is another")
                // Whether a staged value differs isn't looked at.
                if stored.staged == nil {
                    #expect(committed.changes.isEmpty == (old == tree), "\(place), step \(step)")
                    let replayed = replay(committed, on: old, &random)
                    #expect(replayed == tree.root, "\(place), step \(step): \(write)")
                }
            } catch let failure as RealtimeFailure where failure == .stale {
                #expect(tree.apply(write, now: 0) == nil, "\(place), step \(step): the hash is right")
            }
            if random.generator.once(in: 3) {
                try await commitSeveral(fixture, &tree, &random, "\(place), step \(step)")
            }
            if random.generator.once(in: 20) { try await fixture.reopen() }
            if random.generator.once(in: 10) {
                try await fixture.store.configureIndexes(random.indexes(), in: RealtimeFixture.namespace)
                if random.generator.once(in: 2) { try await fixture.store.settle() }
            }
            if random.generator.once(in: 10) {
                let problems = try fixture.problems()
                #expect(problems == [], "\(place), step \(step)")
            }
            try await compareKnown(fixture, tree, &random, "\(place), step \(step)")
            try await compare(fixture, tree, &random, "\(place), step \(step)")
        }
        try await fixture.store.settle()
        #expect(try fixture.problems() == [], place)
        try await fixture.close()
    }

    /// Commits a write, with a check that sees the tree before and after it.
    ///
    /// - Parameter stored: the same write, with a staged value or not.
    private func commit(
        _ write: RealtimeWrite, as stored: RealtimeWrite, _ fixture: RealtimeFixture, _ tree: RealtimeTree,
        _ random: inout RandomTree,
        _ place: Comment
    ) async throws -> RealtimeCommitted {
        guard random.generator.once(in: 2) else { return try await fixture.commit(stored) }
        let path = random.path(in: tree)
        let query = random.query()
        let check: RealtimeCheck = { before, after, now, _ throws in
            #expect(try before.node(at: .root) == tree.root, place)
            var changed = tree
            // A hash that isn't that of what exists is compared after the check.
            if case .set(let target, let value, _) = write {
                changed.apply(.set(target, value), now: now)
            } else {
                changed.apply(write, now: now)
            }
            let node = changed[path]
            #expect(try after.node(at: .root) == changed.root, place)
            #expect(try after.node(at: path) == node, place)
            #expect(try after.leaf(at: path) == node?.leaf, place)
            #expect(try after.exists(at: path) == (node != nil), place)
            #expect(try after.hasChildren(at: path) == !(node?.children.isEmpty ?? true), place)
            #expect(try after.childKeys(at: path) == node?.children.map(\.key) ?? [], place)
            #expect(try after.node(at: path, matching: query) == node?.matching(query), "\(place): \(query)")
        }
        return try await fixture.commit(stored, check: check)
    }

    /// Commits several writes at once, which may be of the same places. What the commit says that it has changed leads from
    /// the state before to the one after, in whatever order.
    private func commitSeveral(
        _ fixture: RealtimeFixture, _ tree: inout RealtimeTree, _ random: inout RandomTree, _ place: Comment
    ) async throws {
        var (changed, writes) = (tree, [RealtimeWrite]())
        fixture.clock.advance(by: .milliseconds(2))
        let now = fixture.clock.timestamp().microseconds / 1_000
        let path = random.path(in: tree)
        for _ in 0..<Int.random(in: 2...5, using: &random.generator) {
            var write = try random.write(in: changed)
            if case .set(let target, let value, nil) = write, random.generator.once(in: 2) {
                // More often at one place, and just below and above it.
                let near = target.path.keys.first.map { path.child($0) } ?? path
                write = .set(RealtimeTarget(near, isPriority: target.isPriority), value)
            }
            guard changed.apply(write.withoutHash, now: now) != nil else { continue }
            writes.append(write.withoutHash)
        }
        guard !writes.isEmpty else { return }
        let committed = try await fixture.store.commit(RealtimeCommit(writes, in: RealtimeFixture.namespace))
        let replayed = replay(committed, on: tree, &random)
        #expect(replayed == changed.root, "\(place): \(writes)")
        tree = changed
    }

    /// Applies what a commit says that it has changed as a client does: in an order of its own.
    private func replay(
        _ committed: RealtimeCommitted, on tree: RealtimeTree, _ random: inout RandomTree
    ) -> RealtimeNode? {
        var root = tree.root
        for change in committed.changes.map(\.change).shuffled(using: &random.generator) {
            root.set(change.node, at: change.target)
        }
        return root
    }

    /// What is known without reading, after some of it was read.
    private func compareKnown(
        _ fixture: RealtimeFixture, _ tree: RealtimeTree, _ random: inout RandomTree, _ place: Comment
    ) async throws {
        for path in (0..<8).map({ _ in random.path(in: tree) }) {
            if let known = try await fixture.known(at: path) {
                let node = tree[path]
                #expect(known.node == node, "\(place): \(path)")
                #expect(known.exactHash == node.exactHash, "\(place): \(path)")
            }
        }
    }

    private func compare(
        _ fixture: RealtimeFixture, _ tree: RealtimeTree, _ random: inout RandomTree, _ place: Comment
    ) async throws {
        let path = random.path()
        let query = random.query()
        let expected = tree[path]
        let matching = expected?.matching(query)
        let form = random.generator.pick([
            RealtimeForm.plain, .export, RealtimeForm(hasArrays: false, hasPriorities: false),
        ])
        try await fixture.read { state in
            #expect(try state.node(at: .root) == tree.root, place)
            #expect(try state.node(at: path) == expected, place)
            #expect(try state.hash(at: path) == expected.hash, place)
            #expect(try state.exists(at: path) == (expected != nil), place)
            #expect(
                try state.content(at: path) == (expected.map { $0.leaf.map { .leaf($0) } ?? .object } ?? .nothing),
                place)
            #expect(try state.priority(at: path) == expected?.priority, place)
            #expect(try state.childKeys(at: path) == expected?.children.map(\.key) ?? [], place)
            #expect(try state.node(at: path, matching: query) == matching, "\(place): \(query) at \(path)")
            #expect(try state.hash(at: path, matching: query) == matching.hash, "\(place): \(query) at \(path)")
            for (query, node) in [(nil, expected), (query, matching)] as [(RealtimeQuery?, RealtimeNode?)] {
                var text: [UInt8] = []
                try state.writeJSON(at: path, matching: query, as: form, pieceBytes: 16) { text += $0 }
                let wanted = node?.json(as: form) ?? Array("null".utf8)
                #expect(text == wanted, "\(place): \(path)")
            }
            let entries = try state.matches(of: query, at: path).entries
            #expect(entries == entries.sorted(), "\(place): \(query) at \(path)")
        }
    }
}
