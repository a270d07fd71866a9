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

/// Listeners beside a tree in memory: after each batch every listener has what the tree has. Some leave, and come back with the
/// hashes of what they had.
struct ListenerModelTests {
    @Test(.endsHangs, arguments: EngineKind.allCases)
    func everyListenerHasWhatTheTreeHas(kind: EngineKind) async throws {
        try await FuzzRounds.run("listeners on \(kind)", count: kind == .memory ? 40 : 10) { _, seed in
            var configuration = RealtimeStoreConfiguration()
            if seed % 2 == 0 {
                configuration.maxComparedRows = 3
                configuration.maxSweptRows = 2
            }
            // Results are often read as a whole.
            if seed % 3 == 0 { configuration.windowLimits.maxQueryNodes = 2 }
            try await run(kind, seed: seed, configuration)
        }
    }

    private func run(_ kind: EngineKind, seed: UInt64, _ configuration: RealtimeStoreConfiguration) async throws {
        var random = RandomTree(generator: SeededGenerator(seed: seed))
        var tree = RealtimeTree()
        let fixture = try RealtimeFixture(kind, configuration: configuration)
        var views: [ListenerView] = []
        var away: [ListenerView] = []
        try await fixture.store.configureIndexes(random.indexes(), in: RealtimeFixture.namespace)
        for step in 1...40 {
            let place: Comment = "seed \(seed), step \(step)"
            for _ in 0..<Int.random(in: 0...2, using: &random.generator) {
                let query = random.generator.once(in: 2) ? random.query() : nil
                views.append(await ListenerView(fixture.store, random.path(), query))
            }
            while !away.isEmpty, random.generator.once(in: 2) {
                let left = away.removeFirst()
                let client = MobileClient(left.node)
                let known = ListenerView.Known(
                    node: left.node,
                    compound: client.hasUnhashedPriority ? nil : client.compoundHash(splitting: &random.generator))
                let view = await ListenerView(fixture.store, left.path, left.query, returning: known)
                let expected = view.query.map { query in tree[view.path]?.matching(query) } ?? tree[view.path]
                #expect(view.node == expected, "\(place): \(view.path) \(String(describing: view.query)) came back")
                views.append(view)
            }
            if !views.isEmpty, random.generator.once(in: 3) {
                away.append(views.remove(at: Int.random(in: 0..<views.count, using: &random.generator)))
                away.last?.cancel()
            }
            if views.count > 12 { views.remove(at: Int.random(in: 0..<views.count, using: &random.generator)).cancel() }
            // Several writes that are submitted together, and usually share a batch.
            let count = random.generator.once(in: 3) ? Int.random(in: 2...5, using: &random.generator) : 1
            let before = tree
            let now = fixture.clock.timestamp().microseconds / 1_000
            let sequence = RealtimeWriteSequence()
            var writes: [RealtimeWrite] = []
            for _ in 0..<count {
                let write = try random.write(in: tree)
                tree.apply(write, now: now)
                writes.append(random.generator.once(in: 5) ? try await fixture.staged(write, &random) : write)
            }
            await withCheckedContinuation { continuation in
                for (number, write) in writes.enumerated() {
                    fixture.store.commit(
                        RealtimeCommit([write], in: RealtimeFixture.namespace), sequence: sequence
                    ) { _ in if number == count - 1 { continuation.resume() } }
                }
            }
            if configuration.windowLimits.maxQueryNodes < 3 { try await fixture.store.settle() }
            let stored = try await fixture.read { try $0.node(at: .root) }
            #expect(stored == tree.root, place)
            for view in views {
                let expected = view.query.map { query in tree[view.path]?.matching(query) } ?? tree[view.path]
                #expect(view.failure == nil, place)
                #expect(view.node == expected, "\(place): \(view.path) \(String(describing: view.query))")
                let pushes = view.takePushes()
                if let query = view.query, !query.loadsAll, pushes.isEmpty { continue }
                if before[view.path] == tree[view.path], configuration.maxComparedRows > 3, count == 1,
                    writes[0].staged == nil
                {
                    #expect(pushes.isEmpty, "\(place): \(view.path) had no change")
                }
                #expect(pushes.count <= count, place)
            }
        }
        try await fixture.close()
    }
}
