import TestSupport
@testable import CommitPipeline
import DocumentModel
@testable import DocumentStore
import StorageEngine
import StoreTestSupport
import Testing

/// Documents beside another kind of data, which logs its changes and has a cache too.
struct OtherKindTests {
    /// A counter whose key in the change log ends as a document of the collection group "c" does.
    private static let misleading = "\0c\0\0d"

    private func make(
        _ kind: EngineKind, _ configuration: StoreConfiguration = TestStore.configuration,
        _ commits: CommitConfiguration = CommitConfiguration()
    ) throws -> (TestStore, Counters) {
        var counters: Counters?
        let test = try TestStore(kind, configuration: configuration, commits: commits) { pipeline in
            counters = try pipeline.add { try Counters($0) }
        }
        return (test, try #require(counters))
    }

    /// A document and counters in one commit, and the counters once more alone.
    private func commit(_ n: Int, _ test: TestStore, _ counters: Counters) async throws -> Timestamp {
        let store = test.store
        let write = Write(path: try DocumentPath("c/d"), operation: .set(["n": .integer(Int64(n))]))
        let outcome = await store.pipeline.commit {
            Commit([
                CountUp("a\(n)", counters), store.part([write]), CountUp(Self.misleading + "\(n)", counters),
            ])
        }
        guard case .applied(let version) = outcome else { throw DocumentError(.internal, "\(outcome)") }
        _ = await store.pipeline.commit {
            Commit([CountUp("a\(n)", counters), CountUp(Self.misleading + "\(n)", counters)])
        }
        return Timestamp(microseconds: version)
    }

    private static let group: Query = {
        var query = Query(collectionID: "c", allDescendants: true)
        query.limit = 5
        return query
    }()

    @Test(arguments: EngineKind.allCases)
    func theFeedHasTheDocumentsOfEachCommit(kind: EngineKind) async throws {
        let (test, counters) = try make(kind)
        try await withStore(test) { _ in
            let start = try await test.store.newestPosition()
            var times: [Timestamp] = []
            for n in 0..<10 { times.append(try await commit(n, test, counters)) }
            for limit in [0, 1, 200, 1 << 20] {
                var (position, found, pages) = (start, [FeedCommit](), 0)
                while true {
                    let page = try await test.store.commits(after: position, atMostBytes: limit)
                    found += page.commits
                    position = page.position
                    pages += 1
                    if page.isLast { break }
                }
                #expect(found.map(\.time) == times)
                #expect(found.allSatisfy { $0.changes.map(\.path.string) == ["c/d"] })
                // Each commit is a page of its own, whatever it has.
                if limit == 1 { #expect(pages == 20) }
            }
        }
    }

    /// One listener reads each change from the log, the other begins late.
    @Test(arguments: EngineKind.allCases)
    func listenersFollowTheDocumentsInTheLog(kind: EngineKind) async throws {
        var configuration = TestStore.configuration
        configuration.maxListenerBacklog = 0
        let (test, counters) = try make(kind, configuration)
        try await withStore(test) { _ in
            let first = try await commit(0, test, counters)
            let targets: [ListenTarget] = [
                .documents([try DocumentPath("c/d")]), .query(Self.group),
                .query(Query(collectionID: "c", allDescendants: true)),
            ]
            for (round, target) in targets.enumerated() {
                var follower = Follower(try test.store.listen(to: target))
                var time = first
                for n in 1...5 { time = try await commit(round * 5 + n, test, counters) }
                let now = try #require(await test.get("c/d"))
                try await follower.catchUp(to: time, of: test.store)
                #expect(follower.startedOver == nil)
                #expect(follower.documents == [now.path: now])
                let late = try test.store.listen(to: target, from: first)
                guard case .changes(let changes, _)? = try await late.next() else {
                    throw DocumentError(.internal, "no changes")
                }
                #expect(changes == [.modified(now)])
            }
        }
    }

    /// However few changes are remembered in memory.
    @Test(arguments: EngineKind.allCases, [0, 50_000])
    func thePastHasItsDocuments(kind: EngineKind, remembered: Int) async throws {
        var configuration = TestStore.configuration
        configuration.maxRecentChanges = remembered
        let (test, counters) = try make(kind, configuration)
        try await withStore(test) { _ in
            var states: [(time: Timestamp, document: Document)] = []
            for n in 0..<10 {
                let time = try await commit(n, test, counters)
                states.append((time, try #require(await test.get("c/d"))))
            }
            try await test.commit([Write(path: try DocumentPath("c/d"), operation: .delete)])
            for (time, document) in states {
                let id = try await test.begin(.readOnly(at: time))
                #expect(try await test.get("c/d", in: id) == document)
                #expect(try await test.query(Self.group, in: id) == [document])
            }
        }
    }

    @Test(arguments: EngineKind.allCases)
    func theCheckCoversEachKindsRows(kind: EngineKind) async throws {
        let (test, counters) = try make(kind)
        try await withStore(test) { _ in
            for n in 0..<5 { _ = try await commit(n, test, counters) }
            func check() throws -> (CheckResult, [String]) {
                var problems: [String] = []
                let result = try test.store.check(report: { problems.append($0) }, progress: { _ in })
                return (result, problems)
            }
            let (sound, none) = try check()
            #expect(none == [])
            #expect(sound.documents == 1)
            #expect(sound.changes == 25)
            try test.store.engine.write { try $0.put(.meta, Counters.key("a1"), []) }
            let (damaged, problems) = try check()
            #expect(problems == ["the counter a1 has 0 bytes"])
            #expect(damaged.problems == 1)
        }
    }

    @Test(arguments: EngineKind.allCases)
    func theLogIsTrimmedWithEachKindsRows(kind: EngineKind) async throws {
        var commits = CommitConfiguration()
        commits.historyRetention = .seconds(60)
        let (test, counters) = try make(kind, TestStore.configuration, commits)
        try await withStore(test) { _ in
            let old = try await commit(0, test, counters)
            for n in 1...3 {
                test.clock.advance(seconds: 100)
                _ = try await commit(n, test, counters)
            }
            let (rows, bytes, bounds) = try test.store.engine.makeReadSession().read { storage in
                var (rows, bytes) = (0, 0)
                try storage.scan(.changes, .all, reverse: false) { key, value in
                    rows += 1
                    bytes += key.count + value.count
                    return true
                }
                return (rows, bytes, try #require(try HistoryBounds.read(storage)))
            }
            #expect(rows == 5)
            #expect(bytes == bounds.bytes)
            #expect(await refusal { _ = try await test.store.commits(after: old) }?.code == .failedPrecondition)
            let page = try await test.store.commits(after: Timestamp(microseconds: bounds.floor))
            #expect(page.commits.count == 1)
            _ = try test.store.check(report: { Issue.record("\($0)") }, progress: { _ in })
        }
    }

    private struct GenerationRead: SnapshotJob {
        let completion: @Sendable (KindGenerations?) -> Void

        func run(on snapshot: Snapshot) { completion(snapshot.generations) }
        func fail(_ error: DocumentError) { completion(nil) }
    }

    /// The documents' catalog of indexes and the other kind's cache change in turn.
    @Test(arguments: EngineKind.allCases)
    func eachKindsCacheHasAGenerationOfItsOwn(kind: EngineKind) async throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        var expected: Int64 = 0
        for round in 0..<3 {
            var added: Counters?
            let test = try TestStore(engine: engine) { added = try $0.add { try Counters($0) } }
            try await withStore(test) { _ in
                let counters = try #require(added)
                try await test.store.configureIndexes(
                    IndexConfiguration(indexes: [
                        IndexDefinition(
                            collectionID: "c", fields: [.init(FieldPath(segments: ["f\(round)"]), .ascending)])
                    ]))
                try await test.store.indexesAreDone()
                for n in 0..<3 {
                    _ = try await commit(round * 3 + n, test, counters)
                    // Of two parts of the commit, and of those of the commit after it.
                    expected += 4
                    let generations = await withCheckedContinuation { continuation in
                        test.store.pipeline.read(GenerationRead { continuation.resume(returning: $0) })
                    }
                    #expect(generations?[Counters.self] == expected)
                    #expect(try await test.query(Query(collectionID: "c")).count == 1)
                }
                #expect(try await test.store.indexes().map(\.state) == [.ready])
            }
        }
        try engine.close()
    }
}
