import CommitPipeline
import DocumentModel
import RealtimeHashing
import RealtimeModel
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

@testable import RealtimeStore

/// Batches that fail, and limits.
struct FailureTests {
    @Test(.endsHangs) func aBatchThatFailsLeavesNothingAndIsNotPushed() async throws {
        let engine = FailingEngine()
        let fixture = try RealtimeFixture(on: engine)
        try await fixture.set("a", "1")
        let view = await ListenerView(fixture.store, .root)
        engine.fails.withLock { $0 = true }
        let failure = await #expect(throws: RealtimeFailure.self) { try await fixture.set("a", "2") }
        #expect(failure?.code == .unavailable)
        // A namespace's record is forgotten with its first write.
        let other = RealtimeCommit([.set(RealtimeTarget(.root), RealtimeWriteValue(RealtimeNode(1)))], in: "other")
        await #expect(throws: RealtimeFailure.self) { try await fixture.store.commit(other) }
        engine.fails.withLock { $0 = false }
        #expect(try await fixture.json() == #"{"a":1}"#)
        #expect(try await fixture.store.namespaces() == [RealtimeFixture.namespace])
        try await fixture.store.commit(other)
        try await fixture.set("a", "3")
        #expect(view.takePushes().count == 1)
        #expect(try await fixture.store.namespaces() == [RealtimeFixture.namespace, "other"])
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    @Test(.endsHangs) func backgroundWorkGoesOnAfterAFailure() async throws {
        let engine = FailingEngine()
        var configuration = RealtimeStoreConfiguration()
        configuration.maxComparedRows = 3
        (configuration.maxSweptRows, configuration.maxIdleSweptRows) = (2, 2)
        let fixture = try RealtimeFixture(on: engine, configuration: configuration)
        try await fixture.set("a", "[1,2,3,4,5,6,7,8,9,10,11,12]")
        try await fixture.set("a", "null")
        engine.fails.withLock { $0 = true }
        await #expect(throws: RealtimeFailure.self) { try await fixture.store.settle() }
        engine.fails.withLock { $0 = false }
        try await fixture.store.settle()
        #expect(try engine.makeReadSession().read { try $0.count(.tree, KeyRange(prefix: [1])) } == 0)
        try await fixture.close()
    }

    @Test(.endsHangs) func indexesWhoseBatchHasFailedComeWithALaterOne() async throws {
        let engine = FailingEngine()
        let fixture = try RealtimeFixture(on: engine)
        try await fixture.set("a", #"{"b":{"n":1},"c":{"n":2}}"#)
        let index = RealtimeIndexDefinition(
            parents: try RealtimePath("a").keys.map { .key($0) }, index: .child(try RealtimePath("n")))
        engine.fails.withLock { $0 = true }
        await #expect(throws: RealtimeFailure.self) {
            try await fixture.store.configureIndexes([index], in: RealtimeFixture.namespace)
        }
        engine.fails.withLock { $0 = false }
        try await fixture.set("d", "1")
        try await fixture.store.settle()
        let indexes = try await fixture.store.indexes(in: RealtimeFixture.namespace)
        #expect(indexes.map(\.definition) == [index])
        let isEachReady = indexes.allSatisfy(\.isReady)
        #expect(isEachReady)
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    /// What is damaged is left until the store is next opened; what can't be read for the moment is removed later.
    @Test(.endsHangs, arguments: [StorageError.Kind.damaged, .unavailable])
    func noCommitFailsForGarbageThatCannotBeRead(kind: StorageError.Kind) async throws {
        let engine = UnreadableGarbage()
        var configuration = RealtimeStoreConfiguration()
        configuration.maxComparedRows = 3
        let reports = Mutex<[String]>([])
        var commits = CommitConfiguration()
        commits.onDamage = { work, error in reports.withLock { $0.append("\(work): \(error)") } }
        let fixture = try RealtimeFixture(on: engine, configuration: configuration, commits: commits)
        engine.failure.withLock { $0 = StorageError(kind, "the page can't be read") }
        try await fixture.set("a", "[1,2,3,4,5,6,7,8,9,10,11,12]")
        try await fixture.set("a", "null")
        for number in 1...3 { try await fixture.set("b", "\(number)") }
        let failure = await #expect(throws: RealtimeFailure.self) { try await fixture.store.settle() }
        #expect(failure?.message == "the page can't be read")
        let json = try await fixture.json()
        #expect(json == #"{"b":3}"#)
        engine.failure.withLock { $0 = nil }
        if kind == .damaged { try await fixture.reopen() } else { fixture.clock.advance(by: .seconds(2)) }
        try await fixture.set("b", "null")
        try await fixture.store.settle()
        #expect(try engine.makeReadSession().read { try $0.count(.tree, KeyRange(prefix: [1])) } == 0)
        #expect(try fixture.problems() == [])
        let work = "removing, moving or indexing rows of the database \(RealtimeFixture.namespace)"
        #expect(reports.withLock { $0 } == ["\(work): the page can't be read"])
        try await fixture.close()
    }

    /// The batch that meets it can't be kept on SQLite. It is met again in batches without commits only.
    @Test(.endsHangs) func fewCommitsMeetGarbageThatCannotBeReadForTheMoment() async throws {
        let engine = UnreadableGarbage()
        var configuration = RealtimeStoreConfiguration()
        configuration.maxComparedRows = 3
        let fixture = try RealtimeFixture(on: engine, configuration: configuration)
        try await fixture.set("a", "[1,2,3,4,5,6,7,8,9,10,11,12]")
        engine.rollsBack.withLock { $0 = true }
        engine.failure.withLock { $0 = StorageError(.unavailable, "the page can't be read") }
        await #expect(throws: RealtimeFailure.self) { try await fixture.set("a", "null") }
        try await fixture.set("a", "null")
        for number in 1...6 {
            try await fixture.set("b", "\(number)")
            // Then it is looked at again.
            fixture.clock.advance(by: .seconds(2))
        }
        engine.failure.withLock { $0 = nil }
        fixture.clock.advance(by: .seconds(2))
        try await fixture.set("b", "null")
        try await fixture.store.settle()
        #expect(try engine.makeReadSession().read { try $0.count(.tree, KeyRange(prefix: [1])) } == 0)
        try await fixture.close()
    }

    /// Otherwise its listeners and readers would take what it has for nothing, until the catalog changes.
    @Test func aCatalogThatCannotBeReadIsReadAgain() async throws {
        let engine = UnreadRows()
        let fixture = try RealtimeFixture(on: engine)
        try await fixture.set("a", "1")
        let key = NamespaceRecord.key(RealtimeFixture.namespace)
        engine.errors.withLock { $0[key] = StorageError(.damaged, "the page can't be read") }
        let (session, catalogs) = (SnapshotSession(try engine.makeReadSession()), CatalogCache())
        let damaged = try session.read { try catalogs.catalog(of: $0).damaged }
        #expect(damaged.keys.sorted() == [RealtimeFixture.namespace])
        // The writer's catalog is the readers' too.
        #expect(try await fixture.json() == #"{"a":1}"#)
        engine.errors.withLock { $0 = [:] }
        let names = try session.read { try catalogs.catalog(of: $0).namespaces.keys.sorted() }
        #expect(names == [RealtimeFixture.namespace])
        try await fixture.close()
    }

    /// What is kept of it stays: it isn't taken for a new one.
    @Test func aDamagedNamespaceDoesNotStopTheOthers() async throws {
        let fixture = try RealtimeFixture(.memory)
        let write = RealtimeWrite.set(RealtimeTarget(.root), RealtimeWriteValue(RealtimeNode(1)))
        try await fixture.set("a", "1")
        try await fixture.store.commit(RealtimeCommit([write], in: "other"))
        let key = NamespaceRecord.key(RealtimeFixture.namespace)
        try fixture.engine.write { try $0.put(.tree, key, [1]) }
        try await fixture.reopen()
        #expect(fixture.store.damagedNamespaces.keys.sorted() == [RealtimeFixture.namespace])
        try await fixture.store.declare([RealtimeFixture.namespace, "other"])
        for body in [{ _ = try await fixture.set("a", "2") }, { _ = try await fixture.json() }] {
            let failure = await #expect(throws: RealtimeFailure.self) { try await body() }
            #expect(failure?.code == .damaged)
        }
        try await fixture.store.commit(RealtimeCommit([write], in: "other"))
        let other = try await fixture.store.read(in: "other") { try $0.exists(at: RealtimePath.root) }
        #expect(other)
        #expect(try fixture.engine.makeReadSession().read { try $0.get(.tree, key) } == [1])
        #expect(try fixture.problems().count == 1)
        try await fixture.close()
    }

    /// A large value may be released while nothing can be written.
    @Test(.endsHangs) func rowsOfAReleasedValueAreRemovedAfterAFailure() async throws {
        let engine = FailingEngine()
        let fixture = try RealtimeFixture(on: engine)
        var value = try await fixture.staged(Array("[1,2,3,4,5]".utf8), at: try RealtimePath("a"))
        #expect(value?.rowCount == 5)
        engine.fails.withLock { $0 = true }
        value = nil
        await #expect(throws: RealtimeFailure.self) { try await fixture.set("b", "1") }
        engine.fails.withLock { $0 = false }
        try await fixture.store.settle()
        #expect(try engine.makeReadSession().read { try $0.count(.tree, KeyRange(prefix: [1])) } == 0)
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    @Test func aReadHasALimit() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.limits.maxBytes = 1_000
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        let text = String(repeating: "x", count: 300)
        try await fixture.set("a", #"["\#(text)","\#(text)","\#(text)","\#(text)"]"#)
        for body in [
            { try $0.node(at: .root) != nil }, { try $0.hash(at: .root).isEmpty },
            { state in
                try state.writeJSON(at: .root, as: .plain) { _ in }
                return true
            },
        ] as [@Sendable (RealtimeSnapshot) throws -> Bool] {
            let failure = await #expect(throws: RealtimeFailure.self) { try await fixture.read(body) }
            #expect(failure?.code == .tooLarge)
        }
        #expect(try await fixture.json("a/1") == "\"\(text)\"")
        try await fixture.close()
    }

    @Test func namespacesAreSeparateAndMayHaveToBeDeclared() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.createsNamespaces = false
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        for body in [{ _ = try await fixture.set("a", "1") }, { _ = try await fixture.json() }] {
            let failure = await #expect(throws: RealtimeFailure.self) { try await body() }
            #expect(failure?.code == .unknownNamespace)
        }
        try await fixture.store.declare([RealtimeFixture.namespace, "other"])
        try await fixture.set("a", "1")
        let other = try await fixture.store.read(in: "other") { try $0.exists(at: RealtimePath.root) }
        #expect(!other)
        let store = fixture.store
        let stored = await withCheckedContinuation { continuation in
            store.set("rules", to: Array("{}".utf8), in: "other") { continuation.resume(returning: $0) }
        }
        try stored.get()
        try await fixture.reopen()
        #expect(try await fixture.store.settings("rules").found == ["other": Array("{}".utf8)])
        #expect(try await fixture.store.settings("other").found == [:])
        #expect(try await fixture.store.namespaces() == [RealtimeFixture.namespace, "other"])
        try await fixture.close()
    }

    /// A commit of the tree and of another kind of data is all or nothing.
    @Test(arguments: [true, false]) func aCommitMayHaveOtherParts(isFull: Bool) async throws {
        let engine = MemoryEngine()
        let pipeline = try CommitPipeline(engine: engine, now: ManualClock().timestamp)
        let store = try RealtimeStore(on: pipeline)
        let counters = try pipeline.add { try Counters($0) }
        try pipeline.start()
        for _ in 0..<(isFull ? 3 : 0) {
            _ = await pipeline.commit { Commit([CountUp("visits", counters)]) }
        }
        let write = RealtimeWrite.set(RealtimeTarget(.root), RealtimeWriteValue(RealtimeNode(1)))
        let outcome = await pipeline.commit {
            Commit([store.part(RealtimeCommit([write], in: "n")), CountUp("visits", counters)])
        }
        if case .refused = outcome { #expect(isFull) } else { #expect(!isFull) }
        #expect(try await store.read(in: "n") { try $0.exists(at: .root) } == !isFull)
        await pipeline.shutdown()
    }
}

/// A memory engine that can't remove ranges of the tree while there is a failure.
private final class UnreadableGarbage: StorageEngine {
    private let inner = MemoryEngine()
    let failure = Mutex<StorageError?>(nil)
    /// Whether nothing is kept of a batch that has met the failure.
    let rollsBack = Mutex(false)
    private let isMet = Mutex(false)

    func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try inner.write { writer in
            isMet.withLock { $0 = false }
            let result = try body(Writer(writer: writer, engine: self))
            if rollsBack.withLock({ $0 }), isMet.withLock({ $0 }) {
                throw StorageError(.unavailable, "the batch was rolled back")
            }
            return result
        }
    }

    func close() throws {}

    fileprivate func check() throws {
        guard let failure = failure.withLock({ $0 }) else { return }
        isMet.withLock { $0 = true }
        throw failure
    }

    private struct Writer: StorageWriter, ForwardingReader {
        let writer: any StorageWriter
        let engine: UnreadableGarbage

        var inner: any StorageReader { writer }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws { try writer.put(table, key, value) }

        func delete(_ table: StorageTable, _ key: [UInt8]) throws { try writer.delete(table, key) }

        func removeRange(_ table: StorageTable, _ range: KeyRange, atMost limit: Int) throws -> [UInt8]? {
            try engine.check()
            return try writer.removeRange(table, range, atMost: limit)
        }
    }
}
