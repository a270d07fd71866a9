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

/// Many writers and listeners at once.
struct ConcurrencyTests {
    /// Each listener has, after each push, what the database had at the push's version.
    @Test(.endsHangs, arguments: EngineKind.allCases)
    func listenersThatBeginWhileOthersWriteSeeEachStateAsItWas(kind: EngineKind) async throws {
        try await FuzzRounds.run("concurrent listeners on \(kind)", count: kind == .memory ? 30 : 10) { _, seed in
            var configuration = RealtimeStoreConfiguration()
            if seed % 2 == 0 { configuration.windowLimits.maxQueryNodes = 2 }
            let fixture = try RealtimeFixture(kind, configuration: configuration)
            let history = SharedList<(version: Int64, write: RealtimeWrite)>()
            let views = try await withThrowingTaskGroup(of: [ListenerView].self) { group in
                for task in 0..<4 as Range<UInt64> {
                    group.addTask {
                        var random = RandomTree(generator: SeededGenerator(seed: seed &* 31 &+ task))
                        for _ in 0..<40 {
                            let write = try random.write(in: RealtimeTree())
                            guard let committed = try? await fixture.commit(write) else { continue }
                            if !committed.changes.isEmpty { history.append((committed.version, write)) }
                        }
                        return []
                    }
                    group.addTask {
                        var random = RandomTree(generator: SeededGenerator(seed: seed &* 37 &+ task))
                        var views: [ListenerView] = []
                        for _ in 0..<8 {
                            let path = random.path(maxDepth: 1)
                            let query = random.generator.once(in: 3) ? nil : random.query()
                            views.append(await ListenerView(fixture.store, path, query))
                        }
                        return views
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            // Each change has come before the answer to this one.
            try await fixture.set("last", "1")
            try await fixture.store.settle()
            var tree = RealtimeTree()
            var states: [(version: Int64, tree: RealtimeTree)] = [(0, tree)]
            let commits = history.all.sorted { $0.version < $1.version }
            for commit in commits {
                tree.apply(commit.write.withoutHash, now: commit.version / 1_000)
                states.append((commit.version, tree))
            }
            let root = try await fixture.read { try $0.node(at: .root) }
            tree.root.set(RealtimeNode(1), at: try RealtimePath("last"))
            #expect(root == tree.root, "seed \(seed)")
            for view in views {
                check(view, states, final: tree, "seed \(seed): \(view.path) \(String(describing: view.query))")
            }
            #expect(try fixture.problems() == [], "seed \(seed)")
            try await fixture.close()
        }
    }

    /// What is known is as it was at the version that it says, and never older than what was acknowledged.
    @Test(.endsHangs, arguments: EngineKind.allCases)
    func whatIsKnownIsAsItWasAtItsVersion(kind: EngineKind) async throws {
        try await FuzzRounds.run("known nodes on \(kind)", count: kind == .memory ? 30 : 10) { _, seed in
            let fixture = try RealtimeFixture(kind)
            let history = SharedList<(version: Int64, write: RealtimeWrite)>()
            let known = SharedList<(path: RealtimePath, known: NodeCache.Known, after: Int64)>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<3 as Range<UInt64> {
                    group.addTask {
                        var random = RandomTree(generator: SeededGenerator(seed: seed &* 31 &+ task))
                        for _ in 0..<60 {
                            let write = try random.write(in: RealtimeTree())
                            guard let committed = try? await fixture.commit(write) else { continue }
                            if !committed.changes.isEmpty { history.append((committed.version, write)) }
                        }
                    }
                    group.addTask {
                        var random = RandomTree(generator: SeededGenerator(seed: seed &* 37 &+ task))
                        for _ in 0..<300 {
                            let path = random.path(maxDepth: 2)
                            let acknowledged = history.all.map(\.version).max() ?? 0
                            if let found = try await fixture.known(at: path) {
                                known.append((path, found, acknowledged))
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            var tree = RealtimeTree()
            var states: [(version: Int64, tree: RealtimeTree)] = [(0, tree)]
            for commit in history.all.sorted(by: { $0.version < $1.version }) {
                tree.apply(commit.write.withoutHash, now: commit.version / 1_000)
                states.append((commit.version, tree))
            }
            #expect(!known.all.isEmpty)
            for (path, found, acknowledged) in known.all {
                let state = states.last { $0.version <= found.version }
                #expect(found.node == state?.tree[path], "seed \(seed): \(path) at \(found.version)")
                #expect(found.version >= acknowledged, "seed \(seed): \(path)")
            }
            try await fixture.close()
        }
    }

    private func check(
        _ view: ListenerView, _ states: [(version: Int64, tree: RealtimeTree)], final: RealtimeTree, _ place: Comment
    ) {
        func expected(_ tree: RealtimeTree) -> RealtimeNode? {
            view.query.map { tree[view.path]?.matching($0) } ?? tree[view.path]
        }
        var last: Int64 = -1
        for (version, node) in view.history {
            #expect(version > last, "\(place): out of order")
            last = version
            guard let state = states.last(where: { $0.version <= version }) else { continue }
            // The write at the end isn't part of the history.
            if version <= states.last?.version ?? 0 { #expect(node == expected(state.tree), "\(place) at \(version)") }
        }
        #expect(view.node == expected(final), place)
        #expect(view.failure == nil, place)
    }

    @Test(.endsHangs) func incrementsOfManyWritersAddUp() async throws {
        let fixture = try RealtimeFixture(.sqlite)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    for _ in 0..<20 { try await fixture.set("counter", #"{".sv":{"increment":1}}"#) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await fixture.json("counter") == "320")
        try await fixture.close()
    }

    /// As the SDKs' transactions: compare with the hash that was read, and retry.
    @Test(.endsHangs) func conditionalSetsOfManyWritersLoseNone() async throws {
        let fixture = try RealtimeFixture(.memory)
        let target = RealtimeTarget(try RealtimePath("counter"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<10 {
                        while true {
                            let node = try await fixture.read { try $0.node(at: target.path) }
                            guard case .number(let number) = node?.leaf ?? 0 else { return }
                            let next = RealtimeNode(.number(number + 1))
                            do {
                                try await fixture.commit(.set(target, RealtimeWriteValue(next), ifHash: node.hash))
                                break
                            } catch let failure as RealtimeFailure where failure == .stale {
                                continue
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await fixture.json("counter") == "80")
        try await fixture.close()
    }
}

extension RealtimeWrite {
    var withoutHash: RealtimeWrite {
        if case .set(let target, let value, _) = self { .set(target, value) } else { self }
    }
}
