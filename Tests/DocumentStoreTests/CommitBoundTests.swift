import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import CommitPipeline
@testable import DocumentStore
import Synchronization
import TestSupport
import Testing

/// What one commit and one batch hold in memory.
struct CommitBoundTests {
    private static let fields: [String: Value] = ["s": .string(String(repeating: "x", count: 500))]

    /// 10 KB as it is stored.
    private static let nulls: [String: Value] = ["a": .array(Array(repeating: .null, count: 10_000))]
    private static let memory = 10_000 * MemoryLayout<Value>.stride

    private func makeStore(maxCommitReadBytes bytes: Int) throws -> TestStore {
        var configuration = TestStore.configuration
        configuration.maxCommitReadBytes = bytes
        return try TestStore(configuration: configuration)
    }

    private func writes(_ operation: Write.Operation) throws -> [Write] {
        try (0..<5).map { Write(path: try DocumentPath("c/d\($0)"), operation: operation) }
    }

    @Test func aCommitThatReplacesTooMuchIsRefused() async throws {
        try await withStore(makeStore(maxCommitReadBytes: 1200)) { test in
            try await test.commit(writes(.set(Self.fields)))
            let error = await refusal { try await test.commit(writes(.delete)) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("1200 bytes") == true)
            // One that is read again by rules counts once.
            try await test.commit(
                Array(writes(.delete).prefix(1)), context: OperationContext(policy: RereadingPolicy()))
            #expect(try await test.query(Query(collectionID: "c")).count == 4)
        }
    }

    /// Nulls are stored as a byte each. A commit that only names such documents reads all of them.
    @Test func aCommitThatReplacesTooMuchMemoryIsRefused() async throws {
        try await withStore(makeStore(maxCommitReadBytes: Self.memory / 4 * 3)) { test in
            for write in try writes(.set(Self.nulls)) { try await test.commit([write]) }
            for context in [OperationContext(), OperationContext(owner: 1, policy: RereadingPolicy())] {
                let error = await refusal { try await test.commit(writes(.delete), context: context) }
                #expect(error?.code == .invalidArgument)
                #expect(error?.message.contains("in memory") == true)
            }
            try await test.commit(Array(writes(.delete).prefix(1)))
        }
    }

    /// Of rules that fail, another part may be true: it reads the same documents again.
    @Test func whatWasTooMuchStaysSoWhenItIsReadAgain() async throws {
        try await withStore(makeStore(maxCommitReadBytes: 700)) { test in
            try await test.commit(writes(.set(Self.fields)))
            let error = await refusal {
                try await test.commit(
                    Array(writes(.delete).prefix(1)), context: OperationContext(policy: InsistingPolicy()))
            }
            #expect(error?.message.contains("700 bytes") == true)
        }
    }

    @Test(arguments: [true, false]) func aBatchIsFullByTheMemoryOfItsChanges(isClient: Bool) async throws {
        var commits = CommitConfiguration()
        commits.maxBatchBytes = Self.memory / 2 * 3
        try await withStore(commits: commits) { test in
            let context = isClient ? OperationContext(owner: 1, policy: RereadingPolicy()) : OperationContext()
            let results = try await test.store.batchWrite(try writes(.set(Self.nulls)), in: context)
            let codes = results.map { result -> StatusCode? in
                if case .failure(let error) = result { error.code } else { nil }
            }
            #expect(codes == [nil, nil, .unavailable, .unavailable, .unavailable])
        }
    }

    @Test func importsAndClearingTakeAsManyCommitsAsTheyNeed() async throws {
        try await withStore(makeStore(maxCommitReadBytes: 1200)) { test in
            for _ in 0..<2 {
                var items = StoreImport(test.store)
                for write in try writes(.verify) { try await items.add(write.path, Self.fields) }
                try await items.finish()
                #expect(items.imported == 5)
            }
            #expect(try await test.store.clear() == 5)
        }
    }

    @Test func aFullBatchLeavesTheRestToTheNext() throws {
        let clock = ManualClock()
        let engine = MemoryEngine()
        var commits = CommitConfiguration()
        commits.maxBatchBytes = 1200
        let store = try DocumentStore(
            engine: engine, now: clock.timestamp, elapsed: clock.elapsed, commits: commits)
        let writer = try store.pipeline.makeWriter()
        let done = Atomic<Int>(0)
        var jobs: [any CommitJob] = try writes(.set(Self.fields)).map { write in
            WriteCommit(
                store: store, writes: [write], transaction: nil, completing: nil, effects: [],
                context: OperationContext()
            ) { _ in done.add(1, ordering: .relaxed) }
        }
        var counts: [Int] = []
        while !jobs.isEmpty {
            jobs = writer.runBatch(jobs)
            counts.append(done.load(ordering: .relaxed))
        }
        #expect(counts == [2, 4, 5])
    }

    @Test func whatIsTooMuchForOneBatchIsToBeSentAgain() async throws {
        var commits = CommitConfiguration()
        commits.maxBatchBytes = 1200
        try await withStore(commits: commits) { test in
            guard let results = try? await test.store.batchWrite(try writes(.set(Self.fields))) else {
                Issue.record("the writes were refused as a whole")
                return
            }
            let codes = results.map { result -> StatusCode? in
                if case .failure(let error) = result { error.code } else { nil }
            }
            #expect(codes == [nil, nil, .unavailable, .unavailable, .unavailable])
        }
    }
}

/// Reads one document many times over.
/// Ignores the first error.
private struct InsistingPolicy: AccessPolicy {
    func check(_ access: Access, in view: AccessView) throws {
        let path = try DocumentPath("c/d1")
        do { _ = try view.document(path) } catch { _ = try view.document(path) }
    }
}

private struct RereadingPolicy: AccessPolicy {
    func check(_ access: Access, in view: AccessView) throws {
        for _ in 0..<10 { _ = try view.document(DocumentPath("c/d1")) }
    }
}
