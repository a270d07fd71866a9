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

    /// The batch that meets them can't be kept on SQLite, and those that follow don't meet them.
    @Test(arguments: [StorageTable.changes, .completions, .deliveries])
    func fewBatchesMeetOldRowsThatCannotBeReadForTheMoment(table: StorageTable) async throws {
        let test = try TestStore(engine: DamagedRemains(table, .unavailable))
        try await withStore(test) { test in
            // The first batch, unless that had no jobs.
            _ = await refusal { _ = try await test.set("a/b", ["n": .integer(0)]) }
            for number in 1...3 as ClosedRange<Int64> {
                test.clock.advance(seconds: 2)
                try await test.set("a/b", ["n": .integer(number)])
            }
            #expect(try await test.get("a/b")?.fields["n"] == .integer(3))
        }
    }

    /// What deletes recursively goes on with the documents behind one.
    @Test func damagedDocumentsAreListedWithTheOthers() async throws {
        let engine = UnreadRows()
        try await withStore(engine: engine) { test in
            var time = Timestamp(microseconds: 0)
            for path in ["a/x", "b/y", "b/z"] { time = try await test.set(path, [:]).commitTime }
            let damaged = try ["a/x", "b/y"].map { DocumentKeys.key(of: try DocumentPath($0)) }
            engine.errors.withLock {
                for key in damaged { $0[key] = StorageError(.damaged, "the page can't be read") }
            }
            let paths = try await test.store.descendants(Descendants(parent: nil, limit: 10))
            #expect(paths.map(\.string) == ["a/x", "b/y", "b/z"])
            #expect(try await test.ids(.collections(below: nil), at: time) == ["a", "b"])
        }
    }

    /// Its attempt may be over, and others' commits share the batch.
    @Test func aDeliveryThatCannotBeReadForTheMomentFailsNoBatch() async throws {
        let engine = UnreadRows()
        let refusals = Mutex<[StorageError?]>([])
        var commits = CommitConfiguration()
        commits.onRefusal = { error in refusals.withLock { $0.append(error) } }
        let test = try TestStore(engine: engine, commits: commits)
        test.store.routeEvents(documents: [try .init("f", .written, "a/{id}")])
        try await withStore(test) { test in
            try await test.set("a/x", ["n": .integer(1)])
            let lease = try await test.take("f")
            engine.errors.withLock {
                $0[OutboxKey.pending(lease.id)] = StorageError(.unavailable, "the disk can't be read")
            }
            let error = await refusal { _ = try await test.end(lease) }
            #expect(error?.code == .unavailable)
            engine.errors.withLock { $0 = [:] }
            #expect(try await test.end(lease) == 1)
        }
        #expect(refusals.withLock { $0 } == [])
    }

    /// The work that has the key fails, and so does the rollback of its transaction, but no other commit.
    @Test(.endsHangs, arguments: [StorageError.Kind.damaged, .unavailable])
    func aKeptAnswerThatCannotBeReadFailsNoOtherCommit(kind: StorageError.Kind) async throws {
        let engine = UnreadRows()
        var row: [UInt8] = [1]
        for text in ["scope", "key"] { KeyBytes.append(text.utf8, to: &row) }
        engine.errors.withLock { [row] in $0[row] = StorageError(kind, "the page can't be read") }
        let store = try DocumentStore(engine: engine, now: ManualClock().timestamp)
        let context = OperationContext(completion: CompletionKey(scope: "scope", key: "key", fingerprint: [1]))
        let key = try #require(context.completion)
        let begun = Mutex<TransactionID?>(nil)
        store.begin(.readWrite(retrying: nil), in: OperationContext()) { answer in
            if case .success(.began(let id, _)) = answer { begun.withLock { $0 = id } }
        }
        let transaction = try #require(begun.withLock { $0 })
        let (answers, answered) = AsyncStream.makeStream(of: StatusCode?.self)
        let write = Write(path: try DocumentPath("a/b"), operation: .set([:]))
        store.pipeline.end(key, [1], in: context) { answered.yield($0.code) }
        store.rollback(transaction, in: context) { answered.yield($0.code) }
        store.submit([write]) { answered.yield($0.code) }
        // They share a batch.
        try store.start()
        var codes: [StatusCode?] = []
        for await code in answers {
            codes.append(code)
            if codes.count == 3 { break }
        }
        let expected: StatusCode = kind == .damaged ? .dataLoss : .unavailable
        #expect(codes == [expected, expected, nil])
        await store.shutdown()
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
        let (engine, clock) = (DamagedDocuments(), ManualClock())
        let store = try DocumentStore(engine: engine, now: clock.timestamp, elapsed: clock.elapsed)
        let (answers, answered) = AsyncStream.makeStream(of: StatusCode?.self)
        func submitAll() throws {
            for id in ["good", "bad", "better"] {
                let write = Write(path: try DocumentPath("a/\(id)"), operation: .set([:]))
                store.submit([write]) { answered.yield($0.code) }
            }
        }
        // They share a batch.
        try submitAll()
        try store.start()
        var codes: [StatusCode?] = []
        for await code in answers {
            codes.append(code)
            // For a while, each batch has one commit.
            if codes.count == 3 { try submitAll() }
            if codes.count == 6 { break }
        }
        #expect(codes == [.unavailable, .unavailable, .unavailable, nil, .dataLoss, nil])
        await store.shutdown()
    }

    /// An engine may find the page damaged only when it stores the batch. The commit is to be sent again, and is then
    /// stored without what is to be removed.
    @Test func noCommitFailsForGoodBesideRowsThatCannotBeRemoved() async throws {
        let engine = FixedChanges()
        let test = try TestStore(engine: engine)
        try await withStore(test) { test in
            for number in 1...3 as ClosedRange<Int64> { try await test.set("a/b", ["n": .integer(number)]) }
            engine.isDamaged.withLock { $0 = true }
            test.clock.advance(seconds: 7200)
            var codes: [StatusCode?] = []
            for number in 4...6 as ClosedRange<Int64> {
                codes.append(await refusal { _ = try await test.set("a/b", ["n": .integer(number)]) }?.code)
                test.clock.advance(seconds: 2)
            }
            #expect(codes == [.unavailable, nil, nil])
        }
    }

    /// The writer's own work has met it.
    @Test(.endsHangs) func aCommitBesideDamagedWorkIsToBeSentAgain() async throws {
        let test = try TestStore { _ = try $0.add { _ in DamagedWork() } }
        let error = await refusal { _ = try await test.set("a/b", [:]) }
        #expect(error?.code == .unavailable)
        await test.store.shutdown()
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

extension Result where Failure == DocumentError {
    /// Nil for a success.
    fileprivate var code: StatusCode? {
        if case .failure(let error) = self { error.code } else { nil }
    }
}

/// Data whose work in each batch meets damage.
private final class DamagedWork: DataKind {
    static let id: UInt8 = 200

    func work(in batch: CommitBatch, to storage: any StorageWriter, isIdle: Bool) throws {
        throw StorageError(.damaged, "the page can't be read")
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

/// A memory engine that can't store a batch which removes changes from the log, because their page is damaged.
private final class FixedChanges: StorageEngine {
    private let inner = MemoryEngine()
    let isDamaged = Mutex(false)
    private let hasRemoved = Mutex(false)

    func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try inner.write { writer in
            hasRemoved.withLock { $0 = false }
            let result = try body(Writer(writer: writer) { [self] in hasRemoved.withLock { $0 = true } })
            if isDamaged.withLock({ $0 }), hasRemoved.withLock({ $0 }) {
                throw StorageError(.damaged, "the page can't be read")
            }
            return result
        }
    }

    func close() throws {}

    private struct Writer: StorageWriter, ForwardingReader {
        let writer: any StorageWriter
        let removed: () -> Void

        var inner: any StorageReader { writer }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws { try writer.put(table, key, value) }

        func delete(_ table: StorageTable, _ key: [UInt8]) throws {
            if table == .changes { removed() }
            try writer.delete(table, key)
        }
    }
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
