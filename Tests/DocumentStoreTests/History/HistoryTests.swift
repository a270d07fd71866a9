@testable import CommitPipeline
import TestSupport
import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import Testing

struct HistoryTests {
    private struct Log: Equatable {
        var bounds: HistoryBounds
        var versions: [Int64] = []
        /// Counted from the rows themselves.
        var bytes = 0
    }

    private func log(of engine: any StorageEngine) throws -> Log {
        try engine.makeReadSession().read { storage in
            var log = Log(bounds: try #require(try HistoryBounds.read(storage)))
            try storage.scan(.changes, .all, reverse: false) { key, value in
                log.versions.append(try ChangeLog.Key(key).version)
                log.bytes += key.count + value.count
                return true
            }
            return log
        }
    }

    private func open(
        _ engine: any StorageEngine, _ clock: ManualClock,
        _ configuration: StoreConfiguration = TestStore.configuration,
        _ commits: CommitConfiguration = CommitConfiguration()
    ) throws -> DocumentStore {
        let store = try DocumentStore(
            engine: engine, now: clock.timestamp, elapsed: clock.elapsed, configuration: configuration,
            commits: commits)
        try store.start()
        return store
    }

    private func set(_ store: DocumentStore, _ path: String, _ text: String = "") async throws -> Int64 {
        let write = Write(path: try DocumentPath(path), operation: .set(["text": .string(text)]))
        return try await store.commit([write]).result.commitTime.microseconds
    }

    @Test(arguments: EngineKind.allCases)
    func whatIsTooOldGoes(kind: EngineKind) async throws {
        let directory = try TemporaryDirectory()
        let (engine, clock) = (try kind.make(in: directory), ManualClock())
        let store = try open(engine, clock)
        var versions: [Int64] = []
        for n in 0..<10 {
            versions.append(try await set(store, "a/\(n)"))
            clock.advance(seconds: 600)
        }
        let log = try log(of: engine)
        // The last was made when the fourth was an hour old.
        #expect(log.versions == Array(versions[4...]))
        #expect(log.bounds == HistoryBounds(floor: versions[3], bytes: log.bytes))
        await store.shutdown()
        try engine.close()
    }

    @Test(arguments: EngineKind.allCases)
    func whatIsTooMuchGoesAndARestartKnowsIt(kind: EngineKind) async throws {
        let directory = try TemporaryDirectory()
        let (engine, clock) = (try kind.make(in: directory), ManualClock())
        var commits = CommitConfiguration()
        commits.maxHistoryBytes = 20_000
        for _ in 0..<2 {
            let store = try open(engine, clock, TestStore.configuration, commits)
            for n in 0..<100 {
                // After the second for which versions are kept.
                clock.advance(seconds: 2)
                _ = try await set(store, "a/\(n % 7)", String(repeating: "x", count: n * 10))
            }
            let log = try log(of: engine)
            #expect(log.bounds.bytes == log.bytes)
            #expect((15_000...20_000).contains(log.bytes))
            #expect(try #require(log.versions.first) > log.bounds.floor)
            await store.shutdown()
        }
        try engine.close()
    }

    /// The log distinguishes keys as the query distinguishes documents.
    @Test func keysAreCoveredAsPathsAre() throws {
        let paths = try ["c/a", "c/a/c/b", "c/a/d/b", "d/a/c/b", "d/a", "cc/a", "x/a/cc/b", "d/a/c/b/c/e", "d/ab/c/b"]
            .map { try DocumentPath($0) }
        let parents = [nil, try DocumentPath("c/a"), try DocumentPath("d/a")]
        for parent in parents {
            for isGroup in [false, true] {
                let query = try NormalizedQuery(
                    Query(parent: parent, collectionID: "c", allDescendants: isGroup))
                let filter = CoverFilter(query)
                for path in paths {
                    #expect(filter.covers(DocumentKeys.key(of: path)[...]) == query.covers(path), "\(query) \(path)")
                }
            }
        }
    }

    /// Read-only transactions keep what they see, up to twice what the log may have.
    @Test func openReadsAreSpared() async throws {
        let (engine, clock) = (MemoryEngine(), ManualClock())
        var configuration = TestStore.configuration
        var commits = CommitConfiguration()
        commits.maxHistoryBytes = 3000
        configuration.transactionIdle = .seconds(10_000)
        configuration.transactionLifetime = .seconds(10_000)
        let store = try open(engine, clock, configuration, commits)
        let first = try await set(store, "a/b", "was")
        guard case .began(let id, _) = try await store.begin(.readOnly(at: Timestamp(microseconds: first))) else {
            throw DocumentError(.unknown, "no transaction")
        }
        var sizes: [Int] = []
        var refusal: DocumentError?
        let path = try DocumentPath("a/b")
        while refusal == nil {
            clock.advance(seconds: 2)
            _ = try await set(store, "a/b", String(repeating: "x", count: 100 + sizes.count))
            sizes.append(try log(of: engine).bytes)
            do throws(DocumentError) {
                let documents = try await store.get([path], .transaction(id)).documents
                #expect(documents[0]?.fields["text"] == .string("was"))
            } catch {
                refusal = error
            }
        }
        #expect(refusal?.code == .aborted)
        #expect(try #require(sizes.max()) > 5000)
        #expect(try #require(sizes.max()) <= 6000)
        await store.shutdown()
    }
}
