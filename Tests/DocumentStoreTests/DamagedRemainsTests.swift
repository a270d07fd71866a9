@testable import CommitPipeline
import DocumentModel
@testable import DocumentStore
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// Damage to rows that no commit is about: expired ones, the old end of the change log, and others' ordering queues.
struct DamagedRemainsTests {
    @Test(arguments: [
        (StorageTable.changes, "removing old changes"), (StorageTable.completions, "removing expired answers"),
        (StorageTable.deliveries, "removing names of ended tasks"),
    ])
    func noCommitFailsForRowsThatAreToBeRemoved(table: StorageTable, work: String) async throws {
        let damage = Mutex<[String]>([])
        var commits = CommitConfiguration()
        commits.onDamage = { work, error in damage.withLock { $0.append("\(work): \(error)") } }
        let test = try TestStore(engine: DamagedRemains(table), commits: commits)
        try await withStore(test) { test in
            for number in 1...3 as ClosedRange<Int64> {
                try await test.set("a/b", ["n": .integer(number)])
                // Expired rows are looked for once a second.
                test.clock.advance(seconds: 2)
            }
            #expect(try await test.get("a/b")?.fields["n"] == .integer(3))
        }
        #expect(damage.withLock { $0 } == ["\(work): the page can't be read"])
    }

    /// The queue's deliveries wait, and the log says so.
    @Test func noCommitFailsForAnOrderingQueueThatCannotBeRead() async throws {
        let damage = Mutex<[String]>([])
        var commits = CommitConfiguration()
        commits.onDamage = { work, error in damage.withLock { $0.append("\(work): \(error)") } }
        let engine = DamagedPlaces()
        let test = try TestStore(engine: engine, commits: commits)
        test.store.routeEvents(documents: [try .init("f", .written, "a/{id}", isOrdered: true)])
        try await withStore(test) { test in
            for number in 1...2 as ClosedRange<Int64> { try await test.set("a/x", ["n": .integer(number)]) }
            let lease = try await test.take("f")
            engine.isDamaged.withLock { $0 = true }
            #expect(try await test.end(lease) == 1)
            try await test.set("a/x", ["n": .integer(3)])
            #expect(try await test.delivered("f").isEmpty)
            engine.isDamaged.withLock { $0 = false }
            #expect(try await test.store.outbox.repair() == 1)
            #expect(try test.problems().isEmpty)
            for expected in ["a/x 1>2", "a/x 2>3"] {
                #expect(try await test.delivered("f") == [expected])
                try await test.end(test.take("f"))
            }
        }
        #expect(damage.withLock { $0 } == ["ordering the deliveries to f: the page can't be read"])
    }

    /// Clients would give up writes that have nothing to do with the damage: to them, data loss is final.
    @Test(.endsHangs) func onlyACommitThatIsAloneInItsBatchFailsForDamage() async throws {
        let engine = DamagedDocuments()
        let store = try DocumentStore(engine: engine, now: ManualClock().timestamp)
        let (answers, answered) = AsyncStream.makeStream(of: StatusCode?.self)
        for id in ["good", "bad", "better"] {
            let write = Write(path: try DocumentPath("a/\(id)"), operation: .set([:]))
            store.submit([write]) { answer in
                if case .failure(let error) = answer { answered.yield(error.code) } else { answered.yield(nil) }
            }
        }
        // They share a batch.
        try store.start()
        var codes: [StatusCode?] = []
        for await code in answers {
            codes.append(code)
            if codes.count == 3 { break }
        }
        #expect(codes == [.unavailable, .unavailable, .unavailable])
        let write = Write(path: try DocumentPath("a/bad"), operation: .set([:]))
        let error = await refusal { _ = try await store.commit([write]) }
        #expect(error?.code == .dataLoss)
        _ = try await store.commit([Write(path: try DocumentPath("a/good"), operation: .set([:]))])
        await store.shutdown()
    }

    /// They have a page on a bad sector, for instance.
    @Test(.endsHangs) func rowsThatCannotBeReadForTheMomentFailNoOtherCommit() async throws {
        let damage = Mutex<[String]>([])
        var commits = CommitConfiguration()
        commits.onDamage = { work, error in damage.withLock { $0.append("\(work): \(error)") } }
        let store = try DocumentStore(
            engine: UnreadDocument(), now: ManualClock().timestamp, commits: commits)
        let (answers, answered) = AsyncStream.makeStream(of: StatusCode?.self)
        for id in ["good", "bad", "better"] {
            let write = Write(path: try DocumentPath("a/\(id)"), operation: .set([:]))
            store.submit([write]) { answer in
                if case .failure(let error) = answer { answered.yield(error.code) } else { answered.yield(nil) }
            }
        }
        // They share a batch.
        try store.start()
        var codes: [StatusCode?] = []
        for await code in answers {
            codes.append(code)
            if codes.count == 3 { break }
        }
        #expect(codes == [nil, .unavailable, nil])
        #expect(damage.withLock { $0 } == ["commits that need rows which can't be read: the disk can't be read"])
        await store.shutdown()
    }
}

/// A memory engine whose writer can't read a document.
private final class UnreadDocument: StorageEngine {
    private let inner = MemoryEngine()

    func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try inner.write { try body(Writer(writer: $0)) }
    }

    func close() throws {}

    private struct Writer: StorageWriter, ForwardingReader {
        let writer: any StorageWriter

        var inner: any StorageReader { writer }

        func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
            if table == .documents, key == DocumentKeys.key(of: try DocumentPath("a/bad")) {
                throw StorageError(.unavailable, "the disk can't be read")
            }
            return try writer.get(table, key)
        }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws { try writer.put(table, key, value) }

        func delete(_ table: StorageTable, _ key: [UInt8]) throws { try writer.delete(table, key) }
    }
}

/// A memory engine that can't store a document, because its page is damaged.
private final class DamagedDocuments: StorageEngine {
    private let inner = MemoryEngine()

    func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try inner.write { writer in
            let result = try body(writer)
            if try writer.get(.documents, DocumentKeys.key(of: DocumentPath("a/bad"))) != nil {
                throw StorageError(.damaged, "the page can't be read")
            }
            return result
        }
    }

    func close() throws {}
}

/// A memory engine whose writer finds the places in ordering queues damaged.
private final class DamagedPlaces: StorageEngine {
    private let inner = MemoryEngine()
    let isDamaged = Mutex(false)

    func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try inner.write { try body(Writer(writer: $0, isDamaged: isDamaged.withLock { $0 })) }
    }

    func close() throws {}

    private struct Writer: StorageWriter, ForwardingReader {
        let writer: any StorageWriter
        let isDamaged: Bool

        var inner: any StorageReader { writer }

        func scanKeys(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
        ) throws {
            if isDamaged, table == .deliveries, range.lower.first == 4 {
                throw StorageError(.damaged, "the page can't be read")
            }
            try writer.scanKeys(table, range, reverse: reverse, body)
        }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws { try writer.put(table, key, value) }

        func delete(_ table: StorageTable, _ key: [UInt8]) throws { try writer.delete(table, key) }
    }
}
