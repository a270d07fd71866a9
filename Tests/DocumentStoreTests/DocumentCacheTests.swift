import CommitPipeline
import Dispatch
import DocumentModel
@testable import DocumentStore
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

struct DocumentCacheTests {
    private let paths: [DocumentPath]

    init() throws { paths = try ["c/a", "c/b"].map { try DocumentPath($0) } }

    private func document(_ path: DocumentPath, _ n: Int64, padding: Int = 0) -> Document {
        let time = Timestamp(microseconds: n)
        let text = String(repeating: "x", count: padding)
        return Document(
            path: path, fields: ["n": .integer(n), "text": .string(text)], createTime: time, updateTime: time)
    }

    private func found(_ paths: [DocumentPath], in cache: DocumentCache) -> [Document?]? {
        cache.find(paths)?.documents.map(\.document)
    }

    /// Adds what a second read has found.
    private func add(
        _ documents: [Document?], at paths: [DocumentPath], to cache: DocumentCache, version: Int64,
        newest: (DocumentPath) -> Int64
    ) {
        for _ in 0..<2 { cache.add(documents, at: paths, version: version, newest: newest) }
    }

    @Test func whatIsReadOnceIsNotKept() throws {
        let cache = DocumentCache(version: 1, maxBytes: 1 << 20)
        cache.add([document(paths[0], 1)], at: [paths[0]], version: 1) { _ in 1 }
        #expect(found([paths[0]], in: cache) == nil)
        cache.add([document(paths[0], 1), nil], at: paths, version: 1) { _ in 1 }
        #expect(found([paths[0]], in: cache) == [document(paths[0], 1)])
        #expect(found([paths[1]], in: cache) == nil)
    }

    @Test func whatWasReadIsFoundUntilItChanges() throws {
        let cache = DocumentCache(version: 1, maxBytes: 1 << 20)
        add([document(paths[0], 1), nil], at: paths, to: cache, version: 1) { _ in 1 }
        #expect(found(paths, in: cache) == [document(paths[0], 1), nil])
        cache.willChange([paths[1]])
        #expect(found(paths, in: cache) == nil)
        #expect(found([paths[0]], in: cache) == [document(paths[0], 1)])
        cache.committed([(paths[1], document(paths[1], 2))], version: 2)
        #expect(found(paths, in: cache) == [document(paths[0], 1), document(paths[1], 2)])
        #expect(cache.find(paths)?.version == 2)
        // Twice in one batch, and then deleted.
        cache.willChange([paths[1]])
        cache.willChange([paths[1]])
        cache.committed([(paths[1], document(paths[1], 3)), (paths[1], document(paths[1], 4))], version: 4)
        #expect(found([paths[1]], in: cache) == [document(paths[1], 4)])
        cache.willChange([paths[1]])
        cache.committed([(paths[1], nil)], version: 5)
        #expect(found([paths[1]], in: cache) == [nil])
        // What has become large leaves.
        cache.willChange([paths[1]])
        cache.committed([(paths[1], document(paths[1], 6, padding: 20_000))], version: 6)
        #expect(found([paths[1]], in: cache) == nil)
    }

    @Test func whatChangedAfterASnapshotIsNotAddedFromIt() throws {
        let cache = DocumentCache(version: 1, maxBytes: 1 << 20)
        let newest: (DocumentPath) -> Int64 = { [path = paths[0]] in $0 == path ? 2 : 1 }
        cache.willChange([paths[0]])
        // The change is on its way, and not even known as the document's newest yet.
        add([document(paths[0], 1), nil], at: paths, to: cache, version: 1) { _ in 1 }
        #expect(found([paths[0]], in: cache) == nil)
        cache.committed([(paths[0], document(paths[0], 2))], version: 2)
        add([document(paths[0], 1), nil], at: paths, to: cache, version: 1, newest: newest)
        #expect(found([paths[0]], in: cache) == nil)
        #expect(found([paths[1]], in: cache) == [nil])
        add([document(paths[0], 2), nil], at: paths, to: cache, version: 2, newest: newest)
        #expect(found(paths, in: cache) == [document(paths[0], 2), nil])
    }

    @Test func whatWasRolledBackMustBeReadAgain() throws {
        let cache = DocumentCache(version: 1, maxBytes: 1 << 20)
        add([document(paths[0], 1), nil], at: paths, to: cache, version: 1) { _ in 1 }
        cache.willChange(paths)
        cache.rolledBack()
        #expect(found([paths[0]], in: cache) == nil)
        add([document(paths[0], 1), nil], at: paths, to: cache, version: 1) { _ in 1 }
        #expect(found(paths, in: cache) == [document(paths[0], 1), nil])
    }

    /// A read that has seen a commit is never followed by one of an earlier time.
    @Test func timesNeverGoBack() throws {
        let cache = DocumentCache(version: 1, maxBytes: 1 << 20)
        add([document(paths[0], 1)], at: [paths[0]], to: cache, version: 1) { _ in 1 }
        cache.willChange([paths[1]])
        cache.saw(2)
        #expect(cache.find([paths[0]])?.version == 2)
        cache.committed([(paths[1], nil)], version: 2)
        #expect(cache.find([paths[0]])?.version == 2)
    }

    @Test func memoryIsBounded() throws {
        let cache = DocumentCache(version: 1, maxBytes: 100_000)
        let hot = try DocumentPath("c/hot")
        add([document(hot, 1)], at: [hot], to: cache, version: 1) { _ in 1 }
        for n in 0..<1000 {
            let path = try DocumentPath("c/d\(n)")
            add([document(path, 1, padding: 1000)], at: [path], to: cache, version: 1) { _ in 1 }
            // What is read again and again stays.
            #expect(found([hot], in: cache) != nil)
            #expect(cache.bytes <= 100_000)
        }
        #expect(try found([DocumentPath("c/d999")], in: cache) != nil)
        #expect(try found([DocumentPath("c/d0")], in: cache) == nil)
        let large = try (0..<2).map { try DocumentPath("c/large\($0)") }
        add(large.map { document($0, 1, padding: 10_000) }, at: large, to: cache, version: 1) { _ in 1 }
        #expect(found([large[0]], in: cache) != nil)
        // Together they would hold up the caller's thread.
        #expect(found(large, in: cache) == nil)
        cache.close()
        add([document(hot, 1)], at: [hot], to: cache, version: 1) { _ in 1 }
        #expect(cache.bytes == 0 && found([hot], in: cache) == nil)
    }

    @Test func whatWasChangedLatelyIsFoundUpToTheDurableVersion() throws {
        let cache = DocumentCache(version: 3, maxBytes: 1 << 20)
        add([document(paths[0], 1)], at: [paths[0]], to: cache, version: 1) { _ in 1 }
        var asked: [(DocumentPath, Int64)] = []
        let found = cache.find(paths) { path, version in
            asked.append((path, version))
            return .some(nil)
        }
        #expect(found?.documents.map(\.document) == [document(paths[0], 1), nil])
        #expect(asked.map(\.0) == [paths[1]] && asked.map(\.1) == [3])
        #expect(cache.find(paths) { _, _ in nil } == nil)
        // Together they would hold up the caller's thread.
        #expect(cache.find(paths) { path, _ in document(path, 2, padding: 20_000) } == nil)
        cache.close()
        #expect(cache.find([paths[1]]) { _, _ in .some(nil) } == nil)
    }

    @Test func ofADocumentTheLastChangeIsRemembered() throws {
        var changes = RecentChanges(floor: 0, maxCount: 3, maxBytes: 1 << 20)
        func append(_ path: DocumentPath, _ n: Int64, isDeleted: Bool = false) {
            let after = isDeleted ? nil : document(path, n)
            changes.append([
                RecentChanges.Entry(
                    DocumentChange(path: path, before: nil, after: after), version: n, storedBytes: 10, weight: 0)
            ])
        }
        append(paths[0], 1)
        append(paths[1], 2)
        #expect(changes.state(of: paths[0], upTo: 1) == .some(document(paths[0], 1)))
        append(paths[0], 3, isDeleted: true)
        // Of an earlier state it isn't known any more.
        #expect(changes.state(of: paths[0], upTo: 2) == nil)
        #expect(changes.state(of: paths[0], upTo: 3) == .some(nil))
        changes.rollBack(to: 2)
        #expect(changes.state(of: paths[0], upTo: 3) == .some(document(paths[0], 1)))
        append(paths[1], 3)
        append(paths[1], 4)
        // The oldest was forgotten.
        #expect(changes.state(of: paths[0], upTo: 4) == nil)
        #expect(changes.state(of: paths[1], upTo: 4) == .some(document(paths[1], 4)))
    }

    /// No reader is free meanwhile, and none has read them before.
    @Test(.endsHangs) func whatWasChangedLatelyIsReadWithoutAReader() async throws {
        try await withStore { test in
            let gate = DispatchSemaphore(value: 0)
            let readers = CommitConfiguration().readerThreads
            for _ in 0..<readers {
                test.store.submit(ViewRead(store: test.store, completion: { _ in }) { _, _ in gate.wait() })
            }
            try await test.set("c/a", ["n": .integer(1)])
            #expect(try await test.get("c/a")?.fields == ["n": .integer(1)])
            try await test.commit([Write(path: paths[0], operation: .delete)])
            #expect(try await test.get("c/a") == nil)
            let id = try await test.begin()
            #expect(try await test.get("c/a", in: id) == nil)
            try await test.set("c/a", [:])
            #expect(await refusal { try await test.set("c/b", [:], in: id) }?.code == .aborted)
            for _ in 0..<readers { gate.signal() }
        }
    }

    /// No reader is free meanwhile.
    @Test(.endsHangs) func clientsAreAnsweredFromItAsTheirPolicyDecides() async throws {
        try await withStore { test in
            try await test.set("c/a", ["owner": .string("ada")])
            try await test.set("c/b", ["owner": .string("ben")])
            let client = OperationContext(owner: 1, policy: Owner())
            // A refused read adds nothing: others have read it.
            for _ in 0..<3 { #expect(try await test.get("c/a", context: client) != nil) }
            try await know(["c/b"], test)
            let gate = DispatchSemaphore(value: 0)
            let readers = CommitConfiguration().readerThreads
            for _ in 0..<readers {
                test.store.submit(ViewRead(store: test.store, completion: { _ in }) { _, _ in gate.wait() })
            }
            #expect(try await test.get("c/a", context: client)?.fields["owner"] == .string("ada"))
            #expect(await refusal { _ = try await test.get("c/b", context: client) }?.code == .permissionDenied)
            for _ in 0..<readers { gate.signal() }
        }
    }

    /// What the cache has of the others may be of another state.
    @Test func aPolicyThatReadsOtherDocumentsIsAskedInOneState() async throws {
        try await withStore { test in
            try await test.set("c/a", [:])
            let client = OperationContext(owner: 1, policy: Member())
            for isMember in [false, true, false] {
                try await test.set("members/ada", ["isMember": .boolean(isMember)])
                try await know(["c/a", "members/ada"], test)
                if isMember {
                    #expect(try await test.get("c/a", context: client) != nil)
                } else {
                    #expect(await refusal { _ = try await test.get("c/a", context: client) }?.code == .permissionDenied)
                }
            }
        }
    }

    /// A decision that takes long isn't made on the caller's thread, and isn't a refusal.
    @Test func aCostlyDecisionIsMadeByAReader() async throws {
        try await withStore { test in
            try await test.set("c/a", [:])
            try await know(["c/a"], test)
            #expect(try await test.get("c/a", context: OperationContext(owner: 1, policy: Costly())) != nil)
        }
    }

    private struct Owner: AccessPolicy {
        func check(_ access: Access, in view: AccessView) throws {
            guard case .get(_, let document) = access, document?.fields["owner"] == .string("ada") else {
                throw DocumentError(.permissionDenied, "refused")
            }
        }
    }

    private struct Member: AccessPolicy {
        func check(_ access: Access, in view: AccessView) throws {
            guard try view.document(DocumentPath("members/ada"))?.fields["isMember"] == .boolean(true) else {
                throw DocumentError(.permissionDenied, "refused")
            }
        }
    }

    private struct Costly: AccessPolicy {
        func check(_ access: Access, in view: AccessView) throws { try view.spend(1_000) }
    }

    /// Reads documents until they are known.
    private func know(_ paths: [String], _ test: TestStore) async throws {
        for _ in 0..<3 { for path in paths { _ = try await test.get(path) } }
        #expect(try test.store.parts.find(paths.map { try DocumentPath($0) }) != nil)
    }

    /// With and without what was changed lately.
    private static let remembered = [0, 50_000]

    private func configuration(remembering changes: Int) -> StoreConfiguration {
        var configuration = TestStore.configuration
        configuration.maxRecentChanges = changes
        return configuration
    }

    @Test(arguments: [EngineKind.memory, .sqlite])
    func transactionsSeeOneStateWithIt(_ kind: EngineKind) async throws {
        try await withStore(kind) { test in
            for path in ["c/a", "c/b", "c/d"] { try await test.set(path, ["n": .integer(1)]) }
            try await know(["c/a", "c/b", "c/d"], test)
            let (reader, writer, unhurt) = (
                try await test.begin(.readOnly(at: nil)), try await test.begin(), try await test.begin()
            )
            for id in [reader, writer, unhurt] { #expect(try await test.get("c/a", in: id) != nil) }
            try await test.set("c/b", ["n": .integer(2)])
            try await know(["c/a", "c/b", "c/d"], test)
            // It goes on in the state of its first read.
            #expect(try await test.get("c/b", in: reader)?.fields == ["n": .integer(1)])
            #expect(try await test.get("c/d", in: reader)?.fields == ["n": .integer(1)])
            // Nothing that these have read has changed.
            for id in [writer, unhurt] {
                #expect(try await test.get("c/b", in: id)?.fields == ["n": .integer(2)])
            }
            try await test.set("c/d", [:], in: unhurt)
            try await test.set("c/a", ["n": .integer(2)])
            try await know(["c/a", "c/b", "c/d"], test)
            #expect(await refusal { try await test.set("c/x", [:], in: writer) }?.code == .aborted)
        }
    }

    /// What was known of a document is what the transaction depends on.
    @Test func aTransactionFailsIfWhatWasKnownHasChanged() async throws {
        try await withStore { test in
            try await test.set("c/a", ["n": .integer(1)])
            try await know(["c/a", "c/missing"], test)
            for path in ["c/a", "c/missing"] {
                let id = try await test.begin()
                _ = try await test.get(path, in: id)
                try await test.set(path, ["n": .integer(2)])
                #expect(await refusal { try await test.set("c/x", [:], in: id) }?.code == .aborted)
            }
        }
    }

    /// A reader's thread finds out whether a transaction's queries have changed if much must be compared for that.
    @Test(arguments: [(256, false), (257, true)])
    func whatIsKnownIsReadIfMuchMustBeCompared(changes: Int, isRead: Bool) async throws {
        let engine = CountingEngine(MemoryEngine(), limit: .max)
        try await withStore(engine: engine) { test in
            try await test.set("c/a", ["n": .integer(1)])
            var query = Query(collectionID: "d")
            query.filter = .field(try FieldPath("n"), .equal, .integer(1))
            let id = try await test.begin()
            #expect(try await test.query(query, in: id).isEmpty)
            try await test.commit(
                try (0..<changes).map { number in
                    Write(path: try DocumentPath("d/\(number)"), operation: .set(["n": .integer(2)]))
                })
            try await know(["c/a"], test)
            _ = engine.takeCounts()
            #expect(try await test.get("c/a", in: id)?.fields == ["n": .integer(1)])
            #expect((engine.takeCounts().read > 0) == isRead)
            // Nothing that it has read has changed.
            try await test.set("c/b", [:], in: id)
        }
    }

    @Test func aFailedCommitLeavesNoTrace() async throws {
        let engine = FailingEngine()
        try await withStore(engine: engine) { test in
            try await test.set("c/a", ["n": .integer(1)])
            for _ in 0..<2 { #expect(try await test.get("c/a")?.fields == ["n": .integer(1)]) }
            engine.fails.withLock { $0 = true }
            #expect(await refusal { try await test.set("c/a", ["n": .integer(2)]) } != nil)
            engine.fails.withLock { $0 = false }
            for _ in 0..<3 { #expect(try await test.get("c/a")?.fields == ["n": .integer(1)]) }
            #expect(test.store.parts.find([paths[0]]) != nil)
        }
    }

    /// Two documents of each writer always change together, and each reader sees whole commits, in their order, and all that
    /// were acknowledged before.
    @Test(arguments: [EngineKind.memory, .sqlite], remembered)
    func readersSeeWholeCommitsInOrder(_ kind: EngineKind, remembered changes: Int) async throws {
        try await withStore(kind, configuration: configuration(remembering: changes)) { test in
            let pairs = try Pairs(writers: 3)
            try await withThrowingTaskGroup { group in
                for writer in pairs.paths.indices { group.addTask { try await pairs.write(writer, to: test) } }
                for _ in 0..<4 { group.addTask { try await pairs.read(from: test) } }
                try await group.waitForAll()
            }
            // Most are here once nothing changes.
            for pair in pairs.paths { _ = try await test.store.get(pair, .strong, in: OperationContext()) }
            #expect(pairs.paths.allSatisfy { test.store.parts.find($0) != nil })
        }
    }
}

private final class Pairs: Sendable {
    let paths: [[DocumentPath]]
    private let acknowledged: Mutex<[Int64]>
    private let ended = Atomic(0)

    init(writers: Int) throws {
        paths = try (0..<writers).map { writer in try ["a", "b"].map { try DocumentPath("pairs/\(writer)\($0)") } }
        acknowledged = Mutex([Int64](repeating: 0, count: writers))
    }

    func write(_ writer: Int, to test: TestStore) async throws {
        defer { ended.add(1, ordering: .sequentiallyConsistent) }
        for n in 1...400 as ClosedRange<Int64> {
            try await test.commit(paths[writer].map { Write(path: $0, operation: .set(["n": .integer(n)])) })
            acknowledged.withLock { $0[writer] = n }
        }
    }

    func read(from test: TestStore) async throws {
        var seen = [Int64](repeating: 0, count: paths.count)
        var time = Timestamp(microseconds: 0)
        while ended.load(ordering: .sequentiallyConsistent) < paths.count {
            let writer = Int.random(in: paths.indices)
            let least = max(acknowledged.withLock { $0[writer] }, seen[writer])
            let wanted = Bool.random() ? paths[writer] : [paths[writer][.random(in: 0...1)]]
            let answer = try await test.store.get(wanted, .strong, in: OperationContext())
            let numbers = answer.documents.map { document in
                if case .integer(let n)? = document?.fields["n"] { n } else { 0 as Int64 }
            }
            #expect(Set(numbers).count == 1, "half a commit")
            #expect(numbers[0] >= least, "an old state")
            #expect(answer.documents.allSatisfy { $0.map { $0.updateTime <= answer.readTime } ?? true })
            #expect(answer.readTime >= time)
            time = answer.readTime
            seen[writer] = numbers[0]
            await Task.yield()
        }
    }
}
